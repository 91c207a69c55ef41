"""Privatising as a user meets it: the file, its certificate, denoising, and what is refused."""
import array
import gzip
import json
import os
import pathlib
import random
import re
import resource
import signal
import struct
import subprocess
import time
import unittest
import zipfile

from support import OBOL, InFolder, obol, write_idx

GAUSSIAN = ("--mechanism", "gaussian", "--epsilon", "5", "--delta", "1e-4", "--radius", "3")
LAPLACE = ("--mechanism", "laplace", "--epsilon", "20", "--radius", "8")


def array_of(path, name):
    """An NPY array of an archive: its shape, and its bytes."""
    with zipfile.ZipFile(path) as archive:
        data = archive.read(name + ".npy")
    size = struct.unpack("<H", data[8:10])[0]
    shape = re.search(r"'shape': \(([^)]*)\)", data[10:10 + size].decode()).group(1)
    return tuple(int(part) for part in shape.split(",") if part.strip()), data[10 + size:]


def floats_of(path):
    shape, data = array_of(path, "records")
    return shape, array.array("f", data)


class Privatize(InFolder):
    def setUp(self):
        super().setUp()
        source = random.Random(3)
        images = [bytes(255 if 2 <= p % 8 < 6 and source.random() < 0.8 else 0 for p in range(64))
                  for _ in range(200)]
        write_idx(self.folder / "digits", images, [i % 10 for i in range(200)])

    def entries(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_the_file_says_how_it_was_made(self):
        out = self.succeeds("privatize", "digits", *GAUSSIAN, "--out", "private.npz")
        self.assertIn("guarantee        epsilon 5 at delta 0.0001", out)
        self.assertRegex(out, r"as published     epsilon [0-9.]+, by the radius 3")
        shape, values = floats_of("private.npz")
        self.assertEqual((shape, len(values)), ((200, 64), 200 * 64))
        how = json.loads(array_of("private.npz", "privatization")[1])
        self.assertEqual((how["mechanism"], how["transform"], how["radius"], how["delta"]),
                         ("gaussian", "none", 3.0, 1e-4))
        self.assertEqual((how["height"], how["width"], how["channels"]), (8, 8, 1))
        self.assertEqual(how["class_names"], [])
        self.assertAlmostEqual(how["sensitivity"], 3 * 2 ** 0.5, places=12)
        self.assertAlmostEqual(how["scale"] / how["sensitivity"],
                               how["events"][0]["event"]["noise_multiplier"], delta=1e-6)
        # 12,800 numbers: the sample's deviation is within 4% but for a chance below 1e-9.
        mean = sum(values) / len(values)
        deviation = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
        self.assertAlmostEqual(deviation / how["scale"], 1, delta=0.05)

    def test_the_certificate_is_about_this_file(self):
        self.succeeds("privatize", "digits", *LAPLACE, "--out", "private.npz")
        out = self.succeeds("verify", "private-certificate")
        self.assertIn("epsilon 20 at delta 0 (person), from 4 ledger entries", out)
        certificate = json.loads(pathlib.Path("private-certificate/certificate.json").read_text())
        self.assertEqual(certificate["guarantee"]["neighbours"], "person")
        self.assertAlmostEqual(certificate["as_published"]["epsilon"], 10, places=5)
        self.assertFalse(certificate["as_published"]["is_a_guarantee"])
        how = json.loads(array_of("private.npz", "privatization")[1])
        self.assertEqual(certificate["data"]["fingerprint"], how["fingerprint"])
        text = pathlib.Path("private-certificate/certificate.md").read_text()
        self.assertIn("the radius of the ball", text)
        answer = json.loads(self.succeeds("account", "private-certificate", "--delta", "1e-5", "--json"))
        self.assertLessEqual(answer["epsilon"], 20)

    def test_the_papers_epsilon_is_not_what_holds(self):
        out = self.succeeds("privatize", "digits", *GAUSSIAN, "--published", "--out", "private.npz")
        self.assertIn("as published     epsilon 5, by the radius 3", out)
        self.assertGreater(float(re.search(r"guarantee +epsilon ([0-9.]+)", out).group(1)), 6)

    def test_labels_are_dropped_or_randomised(self):
        self.succeeds("privatize", "digits", *GAUSSIAN, "--out", "a.npz")
        with zipfile.ZipFile("a.npz") as archive:
            self.assertNotIn("labels.npy", archive.namelist())
        out = self.succeeds("privatize", "digits", *LAPLACE, "--labels", "randomized-response",
                            "--label-epsilon", "2", "--classes", "10", "--out", "b.npz")
        self.assertIn("epsilon 22 at delta 0", out)
        shape, data = array_of("b.npz", "labels")
        labels = array.array("i", data)
        self.assertEqual(shape, (200,))
        self.assertTrue(all(0 <= label < 10 for label in labels))
        right = sum(label == i % 10 for i, label in enumerate(labels))
        self.assertTrue(45 < right < 140, right)  # expected 90, deviation 7

    def test_a_seed_is_repeatable_and_labelled(self):
        for name in ("a.npz", "b.npz"):
            out = self.succeeds("privatize", "digits", *GAUSSIAN, "--seed", "7", "--count", "50",
                                "--out", name)
            self.assertIn("not private: fixed seed 7", out)
        self.assertEqual(floats_of("a.npz"), floats_of("b.npz"))
        self.assertEqual(floats_of("a.npz")[0], (50, 64))
        self.assertIn("not private", self.succeeds("verify", "a-certificate"))

    def test_privatised_data_are_no_plain_data(self):
        self.succeeds("privatize", "digits", *GAUSSIAN, "--out", "private.npz")
        self.assertIn("images", self.fails(3, "data", "info", "private.npz"))
        self.fails(3, "privatize", "private.npz", *GAUSSIAN, "--out", "again.npz")

    def test_bad_input_is_one_sentence_and_leaves_nothing(self):
        before = self.entries()
        for code, arguments, message in [
                (2, (*GAUSSIAN, "--radius", "0"), "radius"),
                (2, (*GAUSSIAN, "--radius", "-1"), "radius"),
                (2, (*GAUSSIAN, "--epsilon", "0"), "epsilon"),
                (2, (*GAUSSIAN, "--epsilon", "-2"), "epsilon"),
                (2, (*GAUSSIAN, "--delta", "1"), "delta"),
                (2, (*LAPLACE, "--delta", "1e-5"), "delta"),
                (2, (*LAPLACE, "--formula", "zhao"), "--formula"),
                (2, (*LAPLACE, "--keep", "0.5"), "keep"),
                (2, (*LAPLACE, "--transform", "dct", "--keep", "1.5"), "keep"),
                (2, (*LAPLACE, "--label-epsilon", "1"), "--label-epsilon"),
                (2, (*LAPLACE, "--labels", "randomized-response"), "--label-epsilon"),
                (2, (*LAPLACE, "--count", "0"), "count")]:
            flags = dict(zip(arguments[::2], arguments[1::2]))  # the last one counts
            line = [part for pair in flags.items() for part in pair]
            self.assertIn(message, self.fails(code, "privatize", "digits", *line, "--out", "x.npz"))
        self.fails(2, "privatize", "digits", *GAUSSIAN, "--out", "x.idx")
        self.fails(3, "privatize", "nowhere", *GAUSSIAN, "--out", "x.npz")
        self.assertEqual(self.entries(), before)

    def test_numbers_that_are_not_bytes_need_a_range_and_leave_nothing_without(self):
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2), }"
        header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
        values = struct.pack("<12f", *([0.5] * 11), float("nan"))
        pathlib.Path("bad.npy").write_bytes(
            b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values)
        before = self.entries()
        message = self.fails(2, "privatize", "bad.npy", *GAUSSIAN, "--out", "x.npz")
        self.assertIn("data.range must be declared", message)
        self.assertEqual(self.entries(), before)
        # The record that is not finite is black; it has noise as the others have.
        self.succeeds("privatize", "bad.npy", *GAUSSIAN, "--range", "0,1", "--out", "x.npz")
        shape, values = floats_of("x.npz")
        self.assertEqual(shape, (3, 4))
        self.assertTrue(all(value == value and abs(value) < 1e6 for value in values))

    def test_classes_are_declared_where_labels_are_kept(self):
        kept = (*GAUSSIAN, "--labels", "randomized-response", "--label-epsilon", "2")
        before = self.entries()
        self.assertIn("data.classes must be declared",
                      self.fails(2, "privatize", "digits", *kept, "--out", "x.npz"))
        self.assertIn("every record of digits",
                      self.fails(3, "privatize", "digits", *kept, "--classes", "9", "--out", "x.npz"))
        self.assertEqual(self.entries(), before)
        self.succeeds("privatize", "digits", *kept, "--classes", "12", "--out", "x.npz")
        self.assertEqual(json.loads(array_of("x.npz", "privatization")[1])["class_names"],
                         [str(k) for k in range(12)])

    def test_a_second_release_is_not_written_over_the_first(self):
        self.succeeds("privatize", "digits", *GAUSSIAN, "--out", "private.npz")
        before = pathlib.Path("private.npz").read_bytes()
        self.assertIn("another release",
                      self.fails(3, "privatize", "digits", *GAUSSIAN, "--out", "private.npz"))
        self.assertEqual(pathlib.Path("private.npz").read_bytes(), before)

    def test_denoising(self):
        self.succeeds("privatize", "digits", "--mechanism", "gaussian", "--epsilon", "300", "--delta",
                      "1e-4", "--radius", "8", "--out", "private.npz")
        out = self.succeeds("denoise", "private.npz", "--oracle", "digits", "--out", "oracle.npz")
        after, before = map(float, re.search(r"images ([0-9.]+), before ([0-9.]+)", out).groups())
        self.assertLess(after, before)
        self.assertIn("oracle: chosen on clean data, not private", out)
        how = json.loads(array_of("oracle.npz", "privatization")[1])
        self.assertIn("oracle", how["denoised"])
        out = self.succeeds("denoise", "private.npz", "--wavelet", "haar", "--levels", "2",
                            "--threshold", "0.5", "--out", "given.npz")
        self.assertIn("haar, 2 levels, threshold 0.5", out)
        self.assertNotEqual(floats_of("given.npz"), floats_of("private.npz"))
        for arguments in [("--wavelet", "haar"), ("--levels", "2", "--threshold", "1"),
                          ("--wavelet", "haar", "--levels", "9", "--threshold", "1"),
                          ("--oracle", "digits", "--levels", "1")]:
            self.fails(2, "denoise", "private.npz", *arguments, "--out", "x.npz")
        self.fails(3, "denoise", "given.npz", "--oracle", "digits", "--out", "x.npz")
        self.fails(3, "denoise", "digits/images-idx3-ubyte", "--oracle", "digits", "--out", "x.npz")
        self.assertFalse(pathlib.Path("x.npz").exists())


class Large(InFolder):
    """400,000 records of 28x28: 1.2 GB come out, of a file that unpacks to 314 MB."""

    def setUp(self):
        super().setUp()
        with gzip.open("images-idx3-ubyte.gz", "wb", compresslevel=1) as file:
            file.write(struct.pack(">IIII", 0x803, 400_000, 28, 28))
            for _ in range(40):
                file.write(bytes(784 * 10_000))

    def start(self, *arguments):
        return subprocess.Popen([OBOL, "privatize", "images-idx3-ubyte.gz", *GAUSSIAN, "--out",
                                 "private.npz", *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def test_an_interrupt_leaves_nothing(self):
        before = sorted(os.listdir("."))
        with self.start() as process:
            while not any(".partial-" in name for name in os.listdir(".")):
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            process.communicate()
            self.assertEqual(process.returncode, 130)
        self.assertEqual(sorted(os.listdir(".")), before)

    def test_memory_does_not_grow_with_the_data(self):
        with self.start("--count", "150000") as process:
            output, errors = process.communicate()
        self.assertEqual(process.returncode, 0, errors)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(peak, 300_000, output)
        self.assertEqual(array_of("private.npz", "privatization")[0][0] > 0, True)
        with zipfile.ZipFile("private.npz") as archive:
            self.assertEqual(archive.getinfo("records.npy").file_size, 128 + 150_000 * 784 * 4)


if __name__ == "__main__":
    unittest.main()
