"""obol evaluate, as a user would: runs and files, what it writes where, and what it refuses."""
import json
import re
import subprocess
import unittest
import zipfile

import numpy

try:
    import ot
except ImportError:
    ot = None
try:
    import sklearn
except ImportError:
    sklearn = None

from support import OBOL
from training import WithImages, bands, declare, obol

# Gives the mean of each image and 2047 zeros.
NETWORK = """class Network(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Network, x: Tensor) -> Tensor:
    mean = torch.mean(x, [1, 2, 3])
    return torch.constant_pad_nd(torch.unsqueeze(mean, 1), [0, {zeros}], 0)
"""


def write_network(path, zeros):
    """A TorchScript file, without PyTorch: a module without parameters, and its code."""
    pickled = (b"\x80\x02c__torch__\nNetwork\nq\x00)\x81}(X\x08\x00\x00\x00trainingq\x01\x89ub"
               b"q\x02.")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("network/data.pkl", pickled)
        archive.writestr("network/code/__torch__.py", NETWORK.format(zeros=zeros))
        archive.writestr("network/constants.pkl", b"\x80\x02).")
        archive.writestr("network/version", "3\n")
    return path


class Evaluation(WithImages):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.samples = cls.folder / "samples.npz"
        cls.images, cls.labels = bands(cls.random, 240)
        numpy.savez(cls.samples, images=cls.images, labels=cls.labels)
        cls.trained = cls.train("run")

    @classmethod
    def train(cls, name, *changes):
        obol("train", cls.recipe(name, 3, *changes), "--out", cls.folder / name)
        return cls.folder / name

    def evaluate(self, *arguments):
        return json.loads(obol("evaluate", *arguments, "--json").stdout)

    def refused(self, *arguments, code=3):
        said = obol("evaluate", *arguments, code=code).stderr
        self.assertRegex(said, r"\Aobol: error: [^\n]+\n\Z")
        return said

    def test_a_run_is_measured_against_its_test_split(self):
        found = self.evaluate(self.trained, "--count", 300, "--classifiers", "logreg,mlp", "--seeds", 2)
        self.assertEqual(found, json.loads((self.trained / "evaluation.json").read_text()))
        self.assertEqual((found["format"], found["version"]), ("obol-evaluation", 1))
        self.assertEqual((found["synthetic"], found["test"], found["seeds"]), (300, 120, 2))
        self.assertEqual(found["classes"], ["0", "1", "2"])
        self.assertEqual((found["protocol"], found["protocol_version"]), ("quick", 2))
        self.assertEqual(list(found["classifiers"]), ["logreg", "mlp"])
        for score in found["classifiers"].values():
            self.assertEqual(len(score["accuracies"]), 2)
            confusion = numpy.array(score["confusion"])
            self.assertEqual(list(confusion.sum(1)), [40, 40, 40])
            self.assertAlmostEqual(confusion.trace() / 120, score["accuracies"][0])
            self.assertTrue(numpy.allclose(confusion.diagonal() / 40, score["per_class"]))
            self.assertAlmostEqual(numpy.mean(score["accuracies"]), score["accuracy"])
            self.assertAlmostEqual(score["balanced_accuracy"], score["accuracy"], msg="40 of each class")
            self.assertAlmostEqual(score["balanced_deviation"], score["standard_deviation"])
            self.assertTrue(0 < score["auc"] <= 1)
            self.assertAlmostEqual(numpy.std(score["accuracies"], ddof=1), score["standard_deviation"])
        quality = found["quality"]
        self.assertEqual(set(quality), {"classifier_fid", "inception_score", "precision", "recall",
                                        "junk_rate", "density", "coverage", "wasserstein_exact",
                                        "wasserstein_entropic"})
        self.assertEqual(quality["classifier_fid"]["against"], "half of test")
        junk = quality["junk_rate"]
        self.assertEqual(junk["against"], "half of test")
        self.assertLessEqual(min(junk["per_class"]), junk["value"])
        self.assertGreaterEqual(max(junk["per_class"]), junk["value"])
        self.assertAlmostEqual(junk["between_real"], 1 / 61)
        self.assertGreater(quality["classifier_fid"]["value"], 0)
        self.assertGreater(quality["wasserstein_exact"]["deviation"], 0, "over two seeds")
        self.assertTrue(all("deviation" in one for one in quality.values()))
        self.assertFalse((self.trained / "private" / "evaluation.json").exists())

    def test_images_of_a_file_are_measured_against_other_images(self):
        out = self.folder / "out.json"
        found = self.evaluate(self.samples, "--against", self.data, "--classifiers", "logreg",
                              "--out", out)
        self.assertEqual(found, json.loads(out.read_text()))
        self.assertEqual((found["synthetic"], found["test"], found["against"]), (240, 120, "test"))
        self.assertGreater(found["classifiers"]["logreg"]["accuracy"], 0.95)
        quality = found["quality"]
        # As good as real ones, since they are.
        self.assertGreater(quality["coverage"]["value"], 0.8)
        self.assertLess(quality["junk_rate"]["value"], 0.1)
        wasserstein = quality["wasserstein_exact"]
        self.assertAlmostEqual(wasserstein["value"] / wasserstein["between_real"], 1, delta=0.1)
        fewer = self.evaluate(self.samples, "--against", self.data, "--classifiers", "logreg",
                              "--count", 100, "--no-quality")
        self.assertEqual(fewer["synthetic"], 100)
        self.assertEqual(fewer["quality"], {})

    def test_people_read_sentences(self):
        said = obol("evaluate", self.samples, "--against", self.data, "--classifiers", "logreg",
                    "--seeds", 2).stdout
        self.assertIn("trained on 240 synthetic images, tested on 120 real ones (quick protocol, version 2)",
                      said)
        self.assertRegex(said, r"  logreg +\d+\.\d% \+- \d+\.\d, balanced \d+\.\d% \+- \d+\.\d, "
                               r"AUC \d\.\d{3} \+- \d\.\d{3}\n")
        self.assertRegex(said, r"  classifier_fid +[\d.e+-]+ \+- [\d.e+-]+ against half of test")

    def test_junk_is_counted_and_warned_of(self):
        junk = self.folder / "junk.npz"
        images = self.images.copy()
        images[:120] = self.random.integers(0, 2, (120, *images.shape[1:])) * 255
        numpy.savez(junk, images=images, labels=self.labels)
        arguments = (junk, "--against", self.data, "--classifiers", "logreg")
        rate = self.evaluate(*arguments)["quality"]["junk_rate"]["value"]
        self.assertAlmostEqual(rate, 0.5, delta=0.05)
        done = obol("evaluate", *arguments)
        self.assertRegex(done.stdout, r"  junk_rate +\d+\.\d% \(1\.6% expected of real ones\)")
        self.assertIn("of the generated images are junk", done.stderr)
        self.assertNotIn("junk:", obol("evaluate", self.samples, *arguments[1:], "--no-quality").stderr)

    def test_classes_are_matched_by_name_where_folders_have_names(self):
        obol("data", "convert", self.samples, self.folder / "png" / "*.png")
        # Without class 0, the folder of class 1 is the first.
        for path in (self.folder / "png" / "0").iterdir():
            path.unlink()
        (self.folder / "png" / "0").rmdir()
        found = self.evaluate(self.folder / "png", "--against", self.data, "--classifiers", "logreg",
                              "--no-quality")
        per_class = found["classifiers"]["logreg"]["per_class"]
        self.assertEqual(per_class[0], 0)
        self.assertGreater(min(per_class[1:]), 0.95)

    @unittest.skipIf(ot is None, "needs POT (python3-pot)")
    def test_wasserstein_distances_are_those_of_pot(self):
        found = self.evaluate(self.samples, "--against", self.data, "--classifiers", "logreg")
        for label in range(3):
            x = self.images[self.labels == label].reshape(-1, 784) / 255
            y = self.test_images[self.test_labels == label].reshape(-1, 784) / 255
            cost = ot.dist(x, y)
            weights = [numpy.full(len(side), 1 / len(side)) for side in (x, y)]
            exact = ot.emd2(*weights, cost)
            ours = found["quality"]["wasserstein_exact"]["per_class"][label] ** 2
            self.assertLess(abs(ours / exact - 1), 1e-6)
            regularization = 0.05 * cost.mean()

            def entropic(a, b):
                one = [numpy.full(len(side), 1 / len(side)) for side in (a, b)]
                costs = ot.dist(a, b)
                _, log = ot.sinkhorn(*one, costs, regularization, method="sinkhorn_log", log=True,
                                     numItermax=10000, stopThr=1e-12)
                plan = numpy.exp((-costs / regularization) + log["log_u"][:, None] + log["log_v"])
                divergence = (plan * numpy.log(plan / numpy.outer(*one))).sum()
                return (plan * costs).sum() + regularization * divergence

            divergence = entropic(x, y) - entropic(x, x) / 2 - entropic(y, y) / 2
            ours = found["quality"]["wasserstein_entropic"]["per_class"][label] ** 2
            self.assertLess(abs(ours / divergence - 1), 1e-3)

    def test_what_is_outside_the_guarantee_is_kept_apart(self):
        run = self.train("apart")
        before = (run / "certificate.json").read_text()
        said = obol("evaluate", run, "--count", 200, "--classifiers", "logreg", "--memorisation",
                    "--no-quality").stdout
        self.assertIn("outside the guarantee", said)
        obol("evaluate", run, "--count", 200, "--classifiers", "logreg", "--real-baseline",
             "--no-quality")
        private = json.loads((run / "private" / "evaluation.json").read_text())
        memorisation = private["memorisation"]
        self.assertLessEqual(memorisation["low"], memorisation["ratio"])
        self.assertEqual(memorisation["samples"], 200)
        self.assertTrue((run / "private" / memorisation["closest"]).is_file())
        score = private["classifiers"]["logreg"]
        self.assertGreater(score["on_real"], 0.95)
        public = (run / "evaluation.json").read_text()
        accuracy = json.loads(public)["classifiers"]["logreg"]["accuracy"]
        self.assertAlmostEqual(score["calibrated"], accuracy / score["on_real"])
        for word in ("memorisation", "on_real", "calibrated"):
            self.assertNotIn(word, public)
        obol("verify", run)
        self.assertIn("private", (run / "disclosures.jsonl").read_text())
        # The certificate lists what was opened, and is the same otherwise.
        after = json.loads((run / "certificate.json").read_text())
        opened = {item for item in after["not_covered"] if item.startswith("what was opened: evaluation")}
        self.assertEqual(len(opened), 2)
        after["not_covered"] = [item for item in after["not_covered"] if item not in opened]
        self.assertEqual(json.loads(before), after)

    def test_a_noisy_accuracy_is_paid_for(self):
        run = self.train("paid", ("epsilon = 10", "epsilon = 20\nnoise_multiplier = 2"))
        found = self.evaluate(run, "--count", 200, "--classifiers", "logreg", "--no-quality",
                              "--noisy", 10)
        self.assertAlmostEqual(found["validation"]["standard_error"], 10 / 300)
        self.assertTrue(-1 < found["validation"]["accuracy"] < 2)
        last = json.loads((run / "ledger.jsonl").read_text().splitlines()[-1])
        self.assertEqual(last["purpose"], "validation accuracy")
        self.assertEqual(last["event"]["noise_multiplier"], 10)
        obol("verify", run)
        # Training has used the whole budget of this one.
        ledger = (self.trained / "ledger.jsonl").read_text()
        said = self.refused(self.trained, "--count", 200, "--classifiers", "logreg", "--no-quality",
                            "--noisy", 1, code=4)
        self.assertIn("for validation accuracy would make it", said)
        self.assertEqual(ledger, (self.trained / "ledger.jsonl").read_text())
        obol("verify", self.trained)

    def test_noisy_accuracies_that_were_planned_cost_no_more_and_others_open_a_stage(self):
        run = self.train("planned", ("epsilon = 10", "epsilon = 20\nnoise_multiplier = 2\n"
                                     "validation_releases = 2\nvalidation_noise = 10"))
        stages = lambda: json.loads((run / "certificate.json").read_text())["guarantee"]["stages"]
        epsilon = lambda: json.loads((run / "certificate.json").read_text())["guarantee"]["epsilon"]
        before = epsilon()
        once = (run, "--count", 100, "--classifiers", "logreg", "--no-quality", "--noisy", 10)
        for _ in range(2):
            self.evaluate(*once)
            self.assertEqual((len(stages()), epsilon()), (1, before))
        self.evaluate(*once)
        first, second = stages()
        self.assertAlmostEqual(first["delta"], 5e-6, delta=1e-15)
        self.assertAlmostEqual(second["delta"], 5e-6, delta=1e-15)
        self.assertGreater(first["epsilon"], before, "at its share of delta")
        self.assertAlmostEqual(epsilon(), first["epsilon"] + second["epsilon"], delta=1e-9)
        self.assertEqual(second["releases"][0]["event"]["count"], 1)
        obol("verify", run)

    def test_fid_is_by_the_users_network(self):
        network = write_network(self.folder / "network.pt", 2047)
        run = self.train("fid")
        arguments = (run, "--count", 60, "--classifiers", "logreg", "--no-quality", "--inception",
                     network)
        first = self.evaluate(*arguments)["quality"]["fid"]
        self.assertEqual(first["against"], "test")
        (cache,) = run.glob("fid-*.npz")
        with numpy.load(cache) as kept:
            self.assertEqual(kept["mu"].shape, (2048,))
            self.assertEqual(kept["sigma"].shape, (2048, 2048))
            self.assertAlmostEqual(kept["mu"][0], 2 * self.test_images.mean() / 255 - 1, places=2)
        self.assertAlmostEqual(self.evaluate(*arguments)["quality"]["fid"]["value"],
                               first["value"])
        narrow = write_network(self.folder / "narrow.pt", 999)
        said = self.refused(self.samples, "--against", self.data, "--classifiers", "logreg",
                            "--no-quality", "--inception", narrow)
        self.assertIn("must be 2048 numbers an image, but is [2, 1000]", said)
        said = self.refused(self.samples, "--against", self.data, "--classifiers", "logreg",
                            "--no-quality", "--inception", self.data)
        self.assertIn("must be a TorchScript file", said)

    def test_the_suite_of_classifiers(self):
        arguments = (self.samples, "--against", self.data, "--classifiers", "logreg", "--no-quality",
                     "--suite", "sklearn", "--suite-records", 90)
        if sklearn is None:
            self.assertIn("scikit-learn must be installed for --suite sklearn (python3-sklearn)",
                          self.refused(*arguments))
            return
        suite = self.evaluate(*arguments)["suite"]
        self.assertEqual(suite["records"], 90)
        self.assertGreaterEqual(len(suite["classifiers"]), 12)
        for name in ("cnn", "mlp", "random_forest", "gbm", "lda"):
            self.assertGreater(suite["classifiers"][name], 0.9, name)

    def test_bad_input_is_refused_in_one_sentence(self):
        def file(name, images, labels):
            path = self.folder / f"{name}.npz"
            numpy.savez(path, images=images, **({} if labels is None else {"labels": labels}))
            return path

        images, labels = self.images, self.labels
        cases = {
            "single class": (file("single", images, 0 * labels), "two classes or more"),
            "label": (file("label", images, labels + 2), "one of the 3 real ones"),
            "size": (file("size", images[:, 2:], labels), "must be 26x28 as the synthetic ones"),
            "empty": (file("empty", images[:0], labels[:0]), ""),
            "absent": (self.folder / "absent.npz", "absent.npz"),
        }
        for name, (path, message) in cases.items():
            done = subprocess.run([OBOL, "evaluate", path, "--against", self.data, "--classifiers",
                                   "logreg", "--no-quality"], capture_output=True, text=True)
            self.assertIn(done.returncode, (2, 3), (name, done.stderr))
            self.assertRegex(done.stderr, r"\Aobol: error: [^\n]+\n\Z", name)
            self.assertIn(message, done.stderr, name)
        unlabelled = file("unlabelled", images, None)
        self.assertIn("must be labelled", self.refused(self.samples, "--against", unlabelled, code=3))
        self.assertIn("--against must be given", self.refused(self.samples, code=2))
        for option in ("--memorisation", "--real-baseline"):
            said = self.refused(self.samples, "--against", self.data, option, code=2)
            self.assertIn(f"{option} must be used with the folder of a run", said)

    def test_what_numbers_mean_is_said_and_not_guessed(self):
        floats = self.folder / "floats.npz"
        numpy.savez(floats, images=self.test_images / 255, labels=self.test_labels)
        few = ("--against", floats, "--classifiers", "logreg", "--no-quality")
        self.assertIn("data.range must be declared", self.refused(self.samples, *few, code=2))
        by_option = self.evaluate(self.samples, *few, "--range", "0,1")
        declare(floats, 'range = "0,1"')
        self.assertEqual(self.evaluate(self.samples, *few)["classifiers"], by_option["classifiers"])
        self.refused(self.samples, *few, "--range", "0,2", code=2)

    def test_other_images_have_the_classes_of_the_generator(self):
        others = self.folder / "two-classes.npz"
        chosen = self.test_labels < 2
        numpy.savez(others, images=self.test_images[chosen], labels=self.test_labels[chosen])
        found = self.evaluate(self.trained, "--against", others, "--count", 300, "--classifiers", "logreg",
                              "--no-quality")
        self.assertEqual(found["classes"], ["0", "1", "2"])

    def test_a_run_without_what_it_takes_is_refused(self):
        bare = self.train("bare")
        (bare / "generator.safetensors").unlink()
        self.assertIn("a run with a generator", self.refused(bare))
        # All that the file has was trained on.
        whole = self.folder / "whole.npz"
        numpy.savez(whole, images=self.images, labels=self.labels)
        recipe = self.trained / "recipe.toml"
        text = recipe.read_text()
        try:
            recipe.write_text(re.sub(r'source = "[^"]*"', f'source = "{whole}"', text))
            self.assertIn("what the run was trained on", self.refused(self.trained))
            self.assertIn("what the run was trained on", self.refused(self.trained, "--against", whole))
        finally:
            recipe.write_text(text)


if __name__ == "__main__":
    unittest.main()
