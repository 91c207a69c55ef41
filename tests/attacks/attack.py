"""What the attacks share: an empty machine, data in every layout, what left a run, and statistics.

Everything here is independent of the library: ledgers are parsed and Gaussian releases accounted for
by this file's own few lines, so that a fault of the library does not hide in the test of it.
"""
import concurrent.futures
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile
import zlib

import numpy
import scipy.optimize
import scipy.stats

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "end_to_end"))

from support import OBOL, write_idx  # noqa: E402

SIDE = 8      # of a picture, in pixels
CLASSES = 2   # that the data are declared to have
TINY = 1e-9   # relative; for comparisons of printed numbers


@unittest.skipIf(os.environ.get("OBOL_HAS_TORCH") == "0", "built without LibTorch")
class Attack(unittest.TestCase):
    """A folder for all tests of a class, in which the program finds nothing of this machine."""

    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.folder = pathlib.Path(place.name)
        cls.random = numpy.random.default_rng(1)

    def setUp(self):
        self.machine = self.new_machine("machine")

    def new_machine(self, name):
        home = self.folder / name
        home.mkdir(exist_ok=True)
        return {**os.environ, "HOME": str(home), "OBOL_LEDGERS": str(home / "ledgers"),
                "OBOL_DATA": str(home / "data"), "XDG_DATA_HOME": str(home / "share"),
                "XDG_CACHE_HOME": str(home / "cache"), "OMP_NUM_THREADS": "1"}

    def obol(self, *arguments, machine=None, timeout=300):
        """Any exit code but that of an internal fault."""
        done = subprocess.run([OBOL, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                              env=machine or self.machine, cwd=self.folder)
        self.assertNotIn(done.returncode, (5, -11, -6), (arguments, done.stderr))
        return done

    def succeeds(self, *arguments, **options):
        done = self.obol(*arguments, **options)
        self.assertEqual(done.returncode, 0, (arguments, done.stdout, done.stderr))
        return done

    def start(self, *arguments):
        return subprocess.Popen([OBOL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=self.machine, cwd=self.folder)

    def recipe(self, name, text):
        path = self.folder / f"{name}.toml"
        path.write_text(text)
        return path

    def declare(self, path, layout):
        """As the curator of the data would, who knows them."""
        words = ["--outside", "map"]
        for line in declaration(layout).splitlines()[1:]:
            key, value = line.split(" = ")
            words += ["--" + key.replace("_", "-"), value.strip('"')]
        self.succeeds("data", "declare", path, *words)

    def sampled(self, run, count=40):
        """Images in [0, 1] and labels of the released generator; labels are None where it has none."""
        path = self.folder / f"samples-{run.name}.npz"
        path.unlink(missing_ok=True)
        self.succeeds("sample", run, "--count", count, "--seed", 1, "--out", path)
        with numpy.load(path) as data:
            return data["images"] / 255, data["labels"] if "labels" in data else None


def at_once(jobs):
    """Results of functions without arguments, two at a time; the first failure is raised."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [future.result() for future in [pool.submit(job) for job in jobs]]


# ---------------------------------------------------------------------------------------------------
# Data

def png(pixels):
    """The bytes of a picture [height, width] or [height, width, 3]."""
    height, width = pixels.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in pixels.astype(numpy.uint8))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    kind = 2 if pixels.ndim == 3 else 0
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_npz(path, images, labels):
    numpy.savez(path, x_train=images.astype(numpy.float32), y_train=labels)


def write_npz_bytes(path, images, labels):
    numpy.savez(path, x_train=as_bytes(images), y_train=labels)


def write_medmnist(path, images, labels):
    """In colour, with labels as a column, and a test split."""
    colour = as_bytes(images)[..., None].repeat(3, axis=-1)
    numpy.savez(path, train_images=colour, train_labels=labels[:, None], test_images=255 - colour[:2],
                test_labels=numpy.zeros((2, 1), numpy.uint8))


def write_csv(path, images, labels):
    with open(path, "w") as file:
        file.write("label," + ",".join(f"p{k}" for k in range(images[0].size)) + "\n")
        for image, label in zip(images, labels):
            file.write(f"{label}," + ",".join(f"{value:g}" for value in image.ravel()) + "\n")


def write_png(path, images, labels):
    """`images` may be a list, whose pictures differ in size and channels."""
    for number, (image, label) in enumerate(zip(images, labels)):
        place = path / str(label)
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:05}.png").write_bytes(png(as_bytes(image)))


def write_idx_files(path, images, labels):
    write_idx(path, [image.tobytes() for image in as_bytes(images)], labels.astype(numpy.uint8))


def as_bytes(images):
    with numpy.errstate(invalid="ignore"):
        return numpy.clip(numpy.nan_to_num(images) * 255, 0, 255).astype(numpy.uint8)


LAYOUTS = {"npz": (write_npz, ".npz"), "bytes": (write_npz_bytes, ".npz"), "csv": (write_csv, ".csv"),
           "medmnist": (write_medmnist, ".npz"), "png": (write_png, ""), "idx": (write_idx_files, "")}


def write_data(folder, name, layout, images, labels):
    write, ending = LAYOUTS[layout]
    path = folder / f"{name}-{layout}{ending}"
    write(path, images, labels)
    return path


def declaration(layout, outside="map", classes=CLASSES, side=SIDE):
    """Lines of [data] that say what is known of the data without looking at them."""
    lines = [f'outside = "{outside}"']
    if layout in ("npz", "csv"):
        lines.append('range = "0,1"')
    if layout in ("csv", "png"):
        lines.append(f'size = "{side}x{side}"')
    if layout == "png":
        names = ",".join(str(k) for k in range(classes))
        lines += [f'class_names = "{names}"', "channels = 1"]
    else:
        lines.append(f"classes = {classes}")
    return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------
# What left a run

def lines_of(path):
    """Whole lines of a file of JSON objects."""
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def events_of(run):
    """(purpose, event, count) of a ledger, by this test's own reading: what was settled counts as used."""
    entries = lines_of(run / "ledger.jsonl")
    used = {entry["reservation"]: entry["used"] for entry in entries if entry["kind"] == "settle"}
    return [(entry["purpose"], entry["event"], used.get(entry["sequence"], entry["event"]["count"]))
            for entry in entries if entry["kind"] == "reserve"]


def certificate_of(run):
    return json.loads((run / "certificate.json").read_text())


def public_files(run):
    """Everything below a run that is not private/, nor a lock."""
    return sorted(path for path in run.rglob("*")
                  if path.is_file() and path.relative_to(run).parts[0] != "private" and path.name != ".lock")


def generator_of(run):
    """The released generator's file, whatever its format."""
    (path,) = [path for path in run.iterdir() if path.name.startswith("generator.")]
    return path


def tensors_of(path):
    """(name, shape or size) of what a generator's file holds."""
    data = path.read_bytes()
    if data[:2] == b"PK":
        with zipfile.ZipFile(path) as archive:
            return sorted((entry.filename, entry.file_size) for entry in archive.infolist())
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    about = header.pop("__metadata__", {})
    about.pop("sha256", None)  # of the numbers
    return [about, *sorted((name, entry["dtype"], tuple(entry["shape"])) for name, entry in header.items())]


def without_noise(text):
    """A text without what depends on the clock, on the secret key, or on the name of the folder."""
    for pattern, word in ((r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
                          (r"hmac-sha256:[0-9a-f]+", "FINGERPRINT"),
                          (r"\b[0-9a-f]{64}\b", "HASH"),
                          (r"\b\d[\d.,]* (steps|records|images)/s", "SPEED"),
                          (r"\b\d+(\.\d+)? (ms|s|min|h)( left)?\b", "SECONDS")):
        text = re.sub(pattern, word, text)
    return text


# ---------------------------------------------------------------------------------------------------
# Statistics

def gaussian_epsilon(noise_multiplier, releases, delta):
    """Of so many Gaussian releases (Balle and Wang 2018), in floats."""
    mu = math.sqrt(releases) / noise_multiplier

    def excess(epsilon):
        first = scipy.stats.norm.cdf(mu / 2 - epsilon / mu)
        second = math.exp(epsilon + scipy.stats.norm.logcdf(-mu / 2 - epsilon / mu))
        return first - second - delta

    return scipy.optimize.brentq(excess, 0, 1000) if excess(0) > 0 else 0.0


def interval(hits, runs, miss=0.005):
    """Clopper and Pearson: below it and above it with probability `miss` each."""
    low = scipy.stats.beta.ppf(miss, hits, runs - hits + 1) if hits else 0.0
    high = scipy.stats.beta.ppf(1 - miss, hits + 1, runs - hits) if hits < runs else 1.0
    return float(low), float(high)


def epsilon_shown(true_hits, false_hits, runs, delta):
    """With 99% confidence epsilon is at least this, given how often D' and D were called D'."""
    low = interval(true_hits, runs)[0] - delta
    return math.log(low / interval(false_hits, runs)[1]) if low > 0 else -math.inf


def false_alarms(runs, epsilon, delta):
    """The largest probability that a program of this (epsilon, delta) is found to be none."""
    caught = numpy.array([[epsilon_shown(t, f, runs, delta) > epsilon for f in range(runs + 1)]
                          for t in range(runs + 1)])
    counts = numpy.arange(runs + 1)
    worst = 0.0
    for p in numpy.linspace(0, 1, 201):
        q = min(1.0, math.exp(epsilon) * p + delta, 1 - max(0.0, 1 - p - delta) * math.exp(-epsilon))
        both = numpy.outer(scipy.stats.binom.pmf(counts, runs, q), scipy.stats.binom.pmf(counts, runs, p))
        worst = max(worst, both[caught].sum())
    return worst


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def declaration_path(path):
    """The file by which the curator of data declares them."""
    return path / "declaration.toml" if path.is_dir() else path.with_name(path.name + ".declaration.toml")


def write_declaration(path, layout, **what):
    declaration_path(path).write_text(declaration(layout, **what) + "\n")


def bright_bands(random, count):
    """Bytes with a bright half, upper or lower by the label."""
    labels = numpy.arange(count) % CLASSES
    images = random.integers(0, 40, (count, SIDE, SIDE), dtype=numpy.uint8)
    images[labels == 0, :SIDE // 2] = 220
    images[labels == 1, SIDE // 2:] = 220
    return images, labels


def write_splits(path, random, train=200, test=60):
    """Bytes of a training and a test split, declared."""
    images, labels = bright_bands(random, train)
    test_images, test_labels = bright_bands(random, test)
    numpy.savez(path, x_train=images, y_train=labels, x_test=test_images, y_test=test_labels)
    write_declaration(path, "bytes")
    return path
