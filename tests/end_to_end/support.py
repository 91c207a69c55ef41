"""What the end-to-end tests share: the program, and data to feed it."""
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

OBOL = os.environ["OBOL"]
SOURCE = pathlib.Path(os.environ["SOURCE"])
# What data cost is kept apart from the user's own.
_LEDGERS = tempfile.TemporaryDirectory()
os.environ["OBOL_LEDGERS"] = _LEDGERS.name


def obol(*arguments, **options):
    return subprocess.run([OBOL, *map(str, arguments)], text=True, capture_output=True, timeout=120,
                          **options)


class InFolder(unittest.TestCase):
    """Each test runs in an empty folder, with an empty data folder."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)
        previous = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, previous)
        os.environ["OBOL_DATA"] = str(self.folder / "cache")

    def succeeds(self, *arguments, **options):
        result = obol(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def fails(self, code, *arguments, **options):
        """Exits with `code` and says why in exactly one line."""
        result = obol(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertRegex(result.stderr, r"\Aobol: error: [^\n]+\n\Z")
        return result.stderr


def write_idx(folder, images, labels):
    """images: a list of equally long bytes of square pictures."""
    side = int(len(images[0]) ** 0.5)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "images-idx3-ubyte").write_bytes(
        struct.pack(">IIII", 0x803, len(images), side, side) + b"".join(images))
    (folder / "labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, len(labels)) + bytes(labels))
    return folder


def write_ledger(folder, events, neighbours="add-remove", randomness="secure (OpenSSL)", plan=None):
    """A ledger, written without Obol's help from the description of its format."""
    folder.mkdir(parents=True, exist_ok=True)
    head = {"kind": "open", "sequence": 0, "time": "2026-01-31T12:00:00Z", "format": "obol-ledger",
            "version": 1, "neighbours": neighbours, "records": 60000,
            "fingerprint": "hmac-sha256:00ff", "randomness": randomness, "software": "0.1.0",
            "commit": "unknown"}
    lines = [head]
    if plan:
        lines.append({"kind": "plan", "sequence": 1, "time": "2026-01-31T12:00:00Z",
                      "releases": [{"purpose": purpose, "event": event} for purpose, event in plan]})
    lines += [{"kind": "reserve", "sequence": len(lines) + i, "time": "2026-01-31T12:00:01Z",
               "purpose": purpose, "event": event} for i, (purpose, event) in enumerate(events)]
    text, previous = "", ""
    for line in lines:
        body = json.dumps(line, separators=(",", ":"))[:-1]
        previous = hashlib.sha256((previous + body).encode()).hexdigest()
        text += body + ',"hash":"' + previous + '"}\n'
    (folder / "ledger.jsonl").write_text(text)
    return folder
