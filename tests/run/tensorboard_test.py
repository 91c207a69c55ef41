"""Event files as an independent reader sees them: this one, and TensorBoard's own where it is there.

    tensorboard_test.py WRITE_EVENTS
"""
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

WRITE_EVENTS = sys.argv.pop()


def crc32c(data):
    """Bit by bit, from the definition."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        length, = struct.unpack_from("<Q", data, at)
        assert struct.unpack_from("<I", data, at + 8)[0] == masked(data[at:at + 8]), "length"
        content = data[at + 12:at + 12 + length]
        assert len(content) == length, "cut off"
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(content), "content"
        yield content
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(message):
    """{number: [values]} of a protocol buffer; nested messages stay bytes."""
    found, at = {}, 0
    while at < len(message):
        key, at = varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(message, at)
        elif wire == 1:
            value, at = struct.unpack_from("<d", message, at)[0], at + 8
        elif wire == 2:
            length, at = varint(message, at)
            value, at = message[at:at + length], at + length
        elif wire == 5:
            value, at = struct.unpack_from("<f", message, at)[0], at + 4
        else:
            raise AssertionError(f"wire type {wire}")
        found.setdefault(number, []).append(value)
    return found


def scalars_of(event):
    values = [fields(value) for value in fields(event[5][0])[1]]
    return {value[1][0].decode(): value[2][0] for value in values if 2 in value}


def grey_png(width, height):
    def chunk(kind, content):
        return (struct.pack(">I", len(content)) + kind + content
                + struct.pack(">I", zlib.crc32(kind + content)))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\x80" * (3 * width)) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


class EventFiles(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)
        self.png = grey_png(300, 2)
        (self.folder / "p.png").write_bytes(self.png)
        subprocess.run([WRITE_EVENTS, self.folder / "t", self.folder / "p.png"], check=True)
        self.sessions = [[fields(record) for record in records(path.read_bytes())]
                         for path in sorted((self.folder / "t").iterdir())]

    def test_start_with_the_version_and_the_step_that_voids_earlier_files(self):
        self.assertEqual(len(self.sessions), 2)
        for events, first_step in zip(self.sessions, (1, 3)):
            self.assertEqual(events[0][3], [b"brain.Event:2"])
            self.assertEqual(fields(events[1][7][0]), {1: [1]})
            self.assertEqual(events[1][2], [first_step])
            for event in events:
                self.assertLess(abs(event[1][0] - time.time()), 600)

    def test_hold_scalars(self):
        first, second = self.sessions
        self.assertEqual([event[2][0] for event in first[2:]], [1, 2, 2, 3])
        self.assertEqual(scalars_of(first[2])["loss"], 0.5)
        self.assertAlmostEqual(scalars_of(first[2])["größe"] / -1e30, 1, places=6)
        self.assertEqual(scalars_of(first[3]), {"loss": 0.25})
        self.assertEqual([(event[2][0], scalars_of(event)) for event in second[2:]],
                         [(3, {"loss": 0.125}), (1 << 40, {"loss": 0})])

    def test_hold_pictures(self):
        value = fields(fields(self.sessions[0][4][5][0])[1][0])
        self.assertEqual(value[1], [b"samples"])
        self.assertEqual(fields(value[4][0]), {1: [2], 2: [300], 3: [3], 4: [self.png]})

    def test_open_in_tensorboard(self):
        try:
            from tensorboard.backend.event_processing import event_accumulator
        except ImportError:
            self.skipTest("the package tensorboard is not installed")
        accumulator = event_accumulator.EventAccumulator(str(self.folder / "t"))
        accumulator.Reload()
        tags = accumulator.Tags()
        loss = accumulator.Scalars("loss") if "loss" in tags["scalars"] else [
            (event.wall_time, event.step, event.tensor_proto.float_val[0])
            for event in accumulator.Tensors("loss")]
        self.assertEqual([(event[1], event[2]) for event in loss],
                         [(1, 0.5), (2, 0.25), (3, 0.125), (1 << 40, 0)])


if __name__ == "__main__":
    unittest.main()
