"""obol train, sample, evaluate: as a user would."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import numpy

OBOL = os.environ["OBOL"]

RECIPE = """
[data]
source = "{data}"

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


def obol(*arguments, code=0):
    done = subprocess.run([OBOL, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done


@unittest.skipIf(os.environ.get("OBOL_HAS_TORCH") == "0", "built without LibTorch")
class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.place.name)
        random = numpy.random.default_rng(1)
        labels = numpy.arange(300) % 3
        images = random.integers(0, 40, (300, 28, 28), dtype=numpy.uint8)
        for label in range(3):
            images[labels == label, 4 + 8 * label:9 + 8 * label] = 220
        cls.data = cls.folder / "bands.npz"
        numpy.savez(cls.data, images=images, labels=labels)
        cls.test = cls.folder / "test.npz"
        numpy.savez(cls.test, images=images[:90], labels=labels[:90])

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def recipe(self, name, steps=4):
        path = self.folder / f"{name}.toml"
        path.write_text(RECIPE.format(data=self.data, steps=steps))
        return path

    def test_a_run_has_all_that_was_promised(self):
        run = self.folder / "whole"
        said = obol("train", self.recipe("whole"), "--out", run).stdout
        self.assertIn("finished 4 steps: epsilon", said)
        self.assertIn("verified: epsilon", obol("verify", run).stdout)
        self.assertTrue((run / "samples" / "000004.png").is_file())
        rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([row["step"] for row in rows], [1, 2, 3, 4])
        ledger = [json.loads(line) for line in (run / "ledger.jsonl").read_text().splitlines()]
        self.assertEqual([entry.get("purpose") for entry in ledger],
                         [None, "class histogram", "training"])
        self.assertEqual(ledger[1]["event"]["count"], 1)
        self.assertEqual(ledger[2]["event"]["count"], 4)
        # The recipe in the folder is whole: it trains on its own.
        obol("train", run / "recipe.toml", "--out", self.folder / "again")

        out = self.folder / "x.npz"
        obol("sample", run, "--count", 30, "--seed", 1, "--out", out)
        drawn = numpy.load(out)
        self.assertEqual(drawn["images"].shape[:3], (30, 28, 28))
        self.assertEqual(list(numpy.bincount(drawn["labels"])), [10, 10, 10])
        obol("sample", run, "--count", 5, "--label", 2, "--out", self.folder / "png" / "*.png")
        self.assertEqual(len(list((self.folder / "png").rglob("*.png"))), 5)
        said = obol("sample", run, "--count", 5, "--label", 3, "--out", out, code=2).stderr
        self.assertIn("a label must be from 0 to 2, but is 3", said)

        answer = json.loads(obol("evaluate", run, "--classifiers", "logreg,mlp", "--count", 300,
                                 "--test", self.test, "--json").stdout)
        self.assertEqual(set(answer["classifiers"]), {"logreg", "mlp"})
        self.assertTrue(0 <= answer["classifiers"]["mlp"]["accuracy"] <= 1)

    def test_interrupted_and_resumed(self):
        run = self.folder / "resumed"
        recipe = self.recipe("resumed", steps=120)
        child = subprocess.Popen([OBOL, "train", str(recipe), "--out", str(run)],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 120
        metrics = run / "metrics.jsonl"
        while time.monotonic() < deadline and not (metrics.exists() and metrics.stat().st_size):
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 130, err)
        self.assertIn("interrupted after step", out)
        self.assertIn("--resume", out)
        obol("verify", run)
        # Not by accident, and not with another recipe or other data.
        obol("train", recipe, "--out", run, code=2)
        said = obol("train", recipe, "--out", run, "--resume", "--set", "method.clip_norm=5",
                    code=2).stderr
        self.assertIn("clip_norm", said)
        done = obol("train", recipe, "--out", run, "--resume")
        self.assertIn("120 steps", done.stdout)
        self.assertIn("verified", obol("verify", run).stdout)
        rows = [json.loads(line)["step"] for line in metrics.read_text().splitlines()]
        self.assertEqual(rows, list(range(1, 121)))

    def test_without_privacy_nothing_is_certified(self):
        run = self.folder / "open"
        text = RECIPE.format(data=self.data, steps=2).replace('"record"', '"none"')
        path = self.folder / "open.toml"
        path.write_text(text.replace("epsilon = 10\n", "").replace("delta = 1e-5\n", ""))
        obol("train", path, "--out", run)
        self.assertFalse((run / "certificate.json").exists())
        self.assertIn("training without privacy", (run / "disclosures.jsonl").read_text())

    def test_bad_recipes_say_what_must_hold_and_where(self):
        cases = {
            "privacy.barrier=wall": "privacy.barrier must be",
            "method.clip_norm=0": "method.clip_norm must be",
            "method.self_weight=1.5": "method.self_weight must be",
            "method.resample=-1": "method.resample must be",
            "method.features=wavelet": "method.features must be",
            "privacy.generated_batch=10": "privacy.generated_batch must be a multiple of the 3",
            "generator.architecture=biggan": "28x28",
        }
        recipe = self.recipe("bad")
        for override, message in cases.items():
            said = obol("train", recipe, "--out", self.folder / "never", "--set", override,
                        code=2).stderr
            self.assertIn(message, said, override)
            self.assertEqual(len(said.strip().splitlines()), 1, said)
        self.assertFalse((self.folder / "never").exists())


if __name__ == "__main__":
    unittest.main()
