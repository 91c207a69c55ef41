"""What is left beside the guarantee: clocks, names of folders, and the training data under another name.

Attacked: seconds to the last digit, which say more about a step than the rounded ones in the metrics; the folder of
warm-started critics, whose name is a hash of the data that anyone can compute who has a guess at them; an evaluation
against a copy of the private records, whose accuracies would be published without noise.

What must hold: seconds that leave are rounded to tenths; the name of such a folder differs where the secret key does;
the training data are known again under any name, and refused. No assertion is statistical.
"""
import json
import re
import shutil
import unittest

import numpy

from attack import Attack, write_data, write_declaration, write_splits

RECIPE = """
[data]
source = "{data}"

[privacy]
barrier = "batch"
shards = 3
noise_multiplier = 5
steps = 3
generated_batch = 4
delta = 1e-5

[generator]
width = 2
latent = 2

[method]
name = "gs-wgan"
critic_width = 2
critic_steps = 1
warm_start = 1
seed = 1
{more}

[run]
sample_every = 0
checkpoint_every = 10
metrics_every = 1
"""
QUICK = ("--count", 20, "--classifiers", "logreg", "--no-quality")


class Leftovers(Attack):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = write_splits(cls.folder / "data.npz", cls.random)

    def train(self, name, more="", data=None, machine=None):
        run = self.folder / name
        recipe = self.recipe(name, RECIPE.format(data=data or self.data, more=more))
        self.succeeds("train", recipe, "--out", run, machine=machine)
        return run

    def test_seconds_are_rounded_as_in_the_metrics(self):
        run = self.train("clock")
        for name in ("outcome.json", "metrics.jsonl"):
            for text in re.findall(r'"\w*seconds\w*": ?([\d.e+-]+)', (run / name).read_text()):
                self.assertEqual(float(text), round(float(text), 1), name)
        self.assertIsInstance(json.loads((run / "outcome.json").read_text())["steps"], int)

    def test_the_name_of_a_cache_is_no_hash_of_the_data(self):
        names = []
        for who in ("one", "two"):
            cache = self.folder / f"warm-{who}"
            self.train(f"cached-{who}", f'warm_cache = "{cache}"', machine=self.new_machine(who))
            names.append({path.name for path in cache.iterdir() if path.is_dir()})
        self.assertTrue(names[0] and names[1], "something was kept")
        self.assertFalse(names[0] & names[1], "whoever has the same data must not find the same name")

    def test_the_training_data_under_another_name_are_no_test_data(self):
        with numpy.load(self.data) as arrays:
            images, labels = arrays["x_train"], arrays["y_train"]
        alone = self.folder / "alone.npz"
        numpy.savez(alone, x_train=images, y_train=labels)
        write_declaration(alone, "bytes")
        run = self.train("against", data=alone)
        copy = self.folder / "copy.npz"
        shutil.copy(alone, copy)
        write_declaration(copy, "bytes")
        other = write_data(self.folder, "other", "bytes", images / 255, labels)
        write_declaration(other, "bytes")
        for path in (alone, copy, other):
            with self.subTest(path.name):
                done = self.obol("evaluate", run, "--against", path, *QUICK)
                self.assertNotEqual(done.returncode, 0, "accuracies on private images need noise")
                self.assertFalse((run / "evaluation.json").exists())


if __name__ == "__main__":
    unittest.main()
