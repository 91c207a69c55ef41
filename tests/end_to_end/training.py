"""What tests of training share: images of three kinds, a recipe for them, and the program."""
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

import numpy

from support import OBOL

RECIPE = """
[data]
source = "{data}"
classes = 3

[privacy]
barrier = "record"
sampling_rate = 0.2
steps = {steps}
epsilon = 10
delta = 1e-5
histogram_noise = 5
generated_batch = 9

[generator]
width = 4
latent = 2

[method]
clip_norm = 7
regularization = 4
second_batch = 9
average = 0.9

[optimizer]
learning_rate = 2e-3

[run]
sample_every = 40
checkpoint_every = 10
metrics_every = 1
"""


def bands(random, count, classes=3):
    """A bright band in one of three places, under noise."""
    labels = numpy.arange(count) % classes
    images = random.integers(0, 40, (count, 28, 28), dtype=numpy.uint8)
    for label in range(classes):
        images[labels == label, 4 + 8 * label:9 + 8 * label] = 220
    return images, labels


def declare(path, *lines):
    """Writes the declaration of a file beside it."""
    path.with_name(path.name + ".declaration.toml").write_text("\n".join(lines) + "\n")


def obol(*arguments, code=0, timeout=300, **options):
    done = subprocess.run([OBOL, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                          **options)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def start(*arguments):
    """On one thread: several at once, or on a busy machine, would wait for each other."""
    return subprocess.Popen([OBOL, *map(str, arguments), "--threads", "1"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def wait_for_metrics(run):
    metrics = run / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (metrics.exists() and metrics.stat().st_size):
        time.sleep(0.05)


@unittest.skipIf(os.environ.get("OBOL_HAS_TORCH") == "0", "built without LibTorch")
class WithImages(unittest.TestCase):
    """A folder for all tests of a class, and in it 300 images to train on and 120 to test."""

    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.folder = pathlib.Path(place.name)
        cls.random = numpy.random.default_rng(1)
        images, labels = bands(cls.random, 300)
        cls.test_images, cls.test_labels = bands(cls.random, 120)
        cls.data = cls.folder / "bands.npz"
        numpy.savez(cls.data, x_train=images, y_train=labels, x_test=cls.test_images,
                    y_test=cls.test_labels)
        declare(cls.data, "classes = 3")

    @classmethod
    def recipe(cls, name, steps=4, *changes):
        path = cls.folder / f"{name}.toml"
        text = RECIPE.format(data=cls.data, steps=steps)
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        path.write_text(text)
        return path
