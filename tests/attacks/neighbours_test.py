"""Telling two data sets apart that differ in one record, from what a training releases.

Attacked: the scale of all records, the number of classes, the size and the channels of pictures, where one
extreme record decides them; for every layout that is read and for all three systems. Someone who may choose
one record trains with it (D') and without it (D) and looks at samples of the released generator: how many
classes they have, which shape, and whether they are dark.

What must hold: how often D' and D are called D' allows no larger epsilon than the certified one, with 99%
confidence (exact binomial intervals, printed), and neither shape nor classes nor exit code tell them apart.
A program that says in a sentence that the data must be declared passes as far as it says the same of both.

False alarms: a program of the certified epsilon fails one statistical assertion with a probability below
1e-4, which the test computes and checks for the counts that it uses; a program from which D and D' are
indistinguishable, below 1e-5. The other assertions are not statistical.

OBOL_RUNS=25 trains 25 times in place of 9, and each pair of layout and system.
"""
import itertools
import math
import os
import unittest

import numpy

from attack import (CLASSES, SIDE, Attack, at_once, certificate_of, declaration, declaration_path, epsilon_shown,
                    false_alarms, interval, write_data)

RUNS = int(os.environ.get("OBOL_RUNS", "9"))
LONG = "OBOL_RUNS" in os.environ
RECORDS = 4000
PICTURES = RECORDS if LONG else 400  # of a folder
DARK = 0.4  # mean brightness below which a generator is said to come from D'; chosen in advance

# Each at a certified epsilon below 0.1 but for gs-wgan. All data are bright, so that only their scale could
# make a generator dark.
COMMON = """
[data]
source = "{data}"
{declared}

[generator]
width = 4
latent = 2
output = "sigmoid"

[run]
sample_every = 0
checkpoint_every = 1000
metrics_every = 100
"""
RECORD = """
[privacy]
barrier = "record"
sampling_rate = 0.5
noise_multiplier = 100
steps = 20
delta = 1e-5
histogram_noise = 100
generated_batch = 20

[method]
clip_norm = 4
regularization = 4
second_batch = 20

[optimizer]
learning_rate = 5e-2
"""
BATCH = """
[privacy]
barrier = "batch"
sampling_rate = 0.0025
noise_multiplier = 2
steps = 300
delta = 1e-5
generated_batch = 10

[method]
clip_norm = 1
regularization = 4

[optimizer]
learning_rate = 1e-2
"""
ROW = BATCH.replace('"batch"', '"row"').replace("noise_multiplier = 2", "noise_multiplier = 6")
SHARDS = """
[privacy]
barrier = "batch"
shards = 4
noise_multiplier = 5
steps = 4
delta = 1e-5
generated_batch = 8

[method]
name = "gs-wgan"
critic_width = 4
critic_steps = 2
warm_start = 2
"""
SYSTEMS = {"record": RECORD, "row": ROW, "batch": BATCH, "gs-wgan": SHARDS}


def extreme_pixel(images, labels):
    """Zeros and ones everywhere else: with a 2 they might be taken for bytes."""
    images = numpy.array(images)
    images[0, 0, 0] = 2
    return images, labels


def extreme_label(images, labels):
    return images, numpy.concatenate([[9], labels[1:]])


def extreme_size(images, labels):
    """The first picture of all is read first."""
    first = int(numpy.argmin(labels))
    images = list(images)
    images[first] = numpy.ones((SIDE + 4, SIDE + 2))
    return images, labels


def extreme_channels(images, labels):
    first = int(numpy.argmin(labels))
    images = list(images)
    images[first] = numpy.ones((SIDE, SIDE, 3)) * [1, 0, 0]
    return images, labels


class WithNeighbours(Attack):
    """D and D' in every layout."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.images = (cls.random.random((RECORDS, SIDE, SIDE)) < 0.9).astype(numpy.float64)
        cls.labels = numpy.arange(RECORDS) % CLASSES
        cls.written = {}
        cls.numbers = itertools.count()

    def data(self, layout, extreme):
        """The path of D, where `extreme` is None, or of D'."""
        name = extreme.__name__ if extreme else "plain"
        if (name, layout) not in self.written:
            count = PICTURES if layout == "png" else RECORDS
            images, labels = self.images[:count], self.labels[:count]
            if extreme:
                images, labels = extreme(images, labels)
            self.written[name, layout] = write_data(self.folder, name, layout, images, labels)
        return self.written[name, layout]


class Central(WithNeighbours):
    def train(self, layout, system, extreme, declared):
        """A run, or the words with which it was refused, without what names the data."""
        data = self.data(layout, extreme)
        name = f"{layout}-{system}-{extreme.__name__ if extreme else 'plain'}-{next(self.numbers)}"
        recipe = self.recipe(name, COMMON.format(data=data, declared=declared) + SYSTEMS[system])
        run = self.folder / name
        done = self.obol("train", recipe, "--out", run, "--threads", 1)
        if done.returncode == 0:
            return run, None
        self.assertFalse(any(run.glob("generator.*")), "a refused run has released nothing")
        return None, (done.returncode, done.stderr.replace(name, "RECIPE").replace(str(data), "DATA")
                      .replace(data.name, "DATA"))

    def outcome(self, run):
        """Number of classes, shape and brightness of what was released."""
        images, labels = self.sampled(run)
        classes = 0 if labels is None else len(set(labels.tolist()))
        return classes, images.shape[1:], float(images.mean())

    def check_pair(self, layout, system, extreme, runs):
        """D and D' without a declaration, where the program takes that, and declared."""
        taken = False
        for declared in ("", declaration(layout)):
            (plain, refused), (changed, refused_too) = at_once(
                [lambda: self.train(layout, system, None, declared),
                 lambda: self.train(layout, system, extreme, declared)])
            self.assertEqual(refused, refused_too, "one record must not decide whether a training is refused")
            if refused:
                self.assertFalse(declared, f"data that are declared must be taken: {refused}")
                continue
            taken = True
            self.check_released(layout, system, extreme, declared, plain, changed, runs)
        self.assertTrue(taken)

    def check_released(self, layout, system, extreme, declared, plain, changed, runs):
        first = at_once([lambda: self.outcome(plain), lambda: self.outcome(changed)])
        self.assertEqual(first[0][:2], first[1][:2],
                         "one record must not decide the number of classes nor the shape of what is released")
        guarantee = certificate_of(changed)["guarantee"]
        self.assertTrue(guarantee["holds"])
        self.succeeds("verify", changed)
        if runs < 2:
            return

        def another(extreme):
            run, refused = self.train(layout, system, extreme, declared)
            self.assertIsNone(refused)
            return self.outcome(run)

        jobs = [lambda e=e: another(e) for _ in range(1, runs) for e in (None, extreme)]
        later = at_once(jobs)
        expected = first[0][:2]
        called = [[outcome[:2] != expected or outcome[2] < DARK for outcome in outcomes]
                  for outcomes in ([first[0], *later[::2]], [first[1], *later[1::2]])]
        false_hits, true_hits = map(sum, called)
        shown = epsilon_shown(true_hits, false_hits, runs, guarantee["delta"])
        epsilon = guarantee["epsilon"]
        alarms = false_alarms(runs, epsilon, guarantee["delta"])
        low = [interval(hits, runs)[0] for hits in (true_hits, false_hits)]
        high = [interval(hits, runs)[1] for hits in (true_hits, false_hits)]
        print(f"{layout}, {system}, {extreme.__name__}: D' called so {true_hits} of {runs} "
              f"[{low[0]:.3f}, {high[0]:.3f}], D {false_hits} of {runs} [{low[1]:.3f}, {high[1]:.3f}]: "
              f"epsilon at least {max(shown, 0) if math.isfinite(shown) else 0:.3g} with 99% confidence, certified {epsilon:.4g}; "
              f"false alarms {alarms:.1e}", flush=True)
        self.assertLess(alarms, 1e-4)
        self.assertLessEqual(shown, epsilon)

    # Scale.
    def test_one_pixel_does_not_scale_all_records_of_an_npz(self):
        for system in ("record", "row", "batch"):
            with self.subTest(system):
                self.check_pair("npz", system, extreme_pixel, RUNS)

    def test_one_pixel_does_not_scale_all_records_of_a_csv(self):
        self.check_pair("csv", "record", extreme_pixel, RUNS)

    @unittest.skipUnless(LONG, "25 runs each")
    def test_one_pixel_does_not_scale_the_rest(self):
        for layout, system in (("csv", "row"), ("csv", "batch"), ("csv", "gs-wgan"), ("npz", "gs-wgan")):
            with self.subTest(layout=layout, system=system):
                self.check_pair(layout, system, extreme_pixel, RUNS)

    # Classes and shapes.
    def test_one_label_does_not_decide_the_number_of_classes(self):
        pairs = [("npz", "record"), ("csv", "gs-wgan"), ("png", "batch"), ("idx", "row"), ("idx", "gs-wgan"),
                 ("bytes", "record")]
        if LONG:
            pairs = [(layout, system) for layout in ("npz", "bytes", "csv", "png", "idx") for system in SYSTEMS]
        for layout, system in pairs:
            with self.subTest(layout=layout, system=system):
                self.check_pair(layout, system, extreme_label, RUNS if LONG else 1)

    def test_one_picture_does_not_decide_size_nor_channels(self):
        for extreme, system in ((extreme_size, "record"), (extreme_channels, "record"),
                                (extreme_channels, "gs-wgan")):
            with self.subTest(extreme=extreme.__name__, system=system):
                self.check_pair("png", system, extreme, RUNS if LONG else 1)


class Local(WithNeighbours):
    """What one person gives says nothing of what others have given: with the same noise, only one record differs."""

    def privatize(self, data, name):
        """The arrays of the file, or the words with which the data were refused."""
        out = self.folder / f"{name}.npz"
        done = self.obol("privatize", data, "--mechanism", "gaussian", "--epsilon", 1, "--delta", 1e-5, "--radius", 2,
                         "--labels", "randomized-response", "--label-epsilon", 1, "--seed", 1, "--out", out)
        if done.returncode == 0:
            with numpy.load(out) as arrays:
                return {key: arrays[key] for key in ("records", "labels")}, None
        self.assertFalse(out.exists(), "what is refused has released nothing")
        return None, (done.returncode, done.stderr.replace(name, "OUT").replace(str(data), "DATA"))

    def check(self, layout, extreme):
        taken = False
        paths = [self.data(layout, None), self.data(layout, extreme)]
        for declared in (False, True):
            for path in paths:
                declaration_path(path).unlink(missing_ok=True)
                if declared:
                    self.declare(path, layout)
            results = [self.privatize(path, f"{layout}-{extreme.__name__}-{k}-{declared}")
                       for k, path in enumerate(paths)]
            (plain, refused), (other, refused_too) = results
            self.assertEqual(refused, refused_too, "one record must not decide whether data are refused")
            if refused:
                self.assertFalse(declared, f"data that are declared must be taken: {refused}")
                continue
            taken = True
            for key in ("records", "labels"):
                self.assertEqual(plain[key].shape, other[key].shape)
                same = [numpy.array_equal(a, b) for a, b in zip(plain[key], other[key])]
                self.assertTrue(all(same[1:]),
                                f"{layout}, {extreme.__name__}: one person's record changed another's {key}")
        self.assertTrue(taken)

    def test_one_person_does_not_change_what_another_gives(self):
        for layout, extreme in (("npz", extreme_pixel), ("csv", extreme_pixel), ("npz", extreme_label),
                                ("idx", extreme_label), ("bytes", extreme_label), ("png", extreme_size),
                                ("png", extreme_channels)):
            with self.subTest(layout=layout, extreme=extreme.__name__):
                self.check(layout, extreme)


if __name__ == "__main__":
    unittest.main()
