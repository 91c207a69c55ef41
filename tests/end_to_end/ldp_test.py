"""obol train on privatised records: as a user would."""
import csv
import json
import os
import pathlib
import subprocess
import unittest
import xml.etree.ElementTree

import numpy

from support import OBOL, SOURCE
from training import WithImages, obol

RECIPE = """
[generator]
width = 4
latent = 2

[method]
name = "ldp-wgan"
batch = 30
epochs = {epochs}
iterations = 20
average = 0.9

[optimizer]
learning_rate = 5e-3

[run]
sample_every = 40
checkpoint_every = 5
metrics_every = 1
"""


class Ldp(WithImages):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.records = cls.folder / "private.npz"
        obol("privatize", cls.data, "--mechanism", "gaussian", "--epsilon", 200, "--delta", 1e-4,
             "--radius", 20, "--out", cls.records)
        cls.small = cls.folder / "ldp.toml"
        cls.small.write_text(RECIPE.format(epochs=2))

    def train(self, name, *words, records=None, **options):
        run = self.folder / name
        done = obol("train", self.small, "--out", run, "--set", f"data.source={records or self.records}",
                    *words, **options)
        return run, done

    def events(self, run):
        return [json.loads(line) for line in (run / "ledger.jsonl").read_text().splitlines()
                if json.loads(line)["kind"] == "reserve"]

    def test_a_run_costs_what_its_records_cost_and_no_more(self):
        run, done = self.train("whole")
        self.assertIn("finished 20 steps: epsilon 200", done.stdout)
        obol("verify", run)
        self.assertEqual(len(self.events(run)), 1)
        of_records = json.loads((self.folder / "private-certificate" / "certificate.json").read_text())
        of_run = json.loads((run / "certificate.json").read_text())
        for certificate in (of_run, of_records):
            for stage in certificate["guarantee"]["stages"]:
                del stage["time"]  # of the run, and of privatising
        for key in ("guarantee", "as_published"):
            self.assertEqual(of_run[key], of_records[key])
        self.train("whole", "--resume")
        self.assertEqual(len(self.events(run)), 1)

    def test_an_evaluation_without_labels_says_what_needs_none(self):
        run, _ = self.train("seen")
        refused = obol("evaluate", run, code=2).stderr
        self.assertIn("--against must be given", refused)
        found = json.loads(obol("evaluate", run, "--against", self.data, "--count", 200, "--json").stdout)
        self.assertEqual(found["classifiers"], {})
        quality = found["quality"]
        self.assertAlmostEqual(sum(quality["classes_seen"]["per_class"]), 1)
        self.assertLessEqual(quality["classes_seen"]["value"], 3 + 1e-9)
        self.assertGreater(quality["wasserstein_exact"]["between_real"], 0)
        self.assertEqual(quality["wasserstein_exact"]["images_per_class"], 60)
        self.assertIn("without labels", obol("evaluate", run, "--against", self.data, "--suite", "sklearn",
                                             code=2).stderr)
        self.assertIn("privatised records", obol("evaluate", run, "--against", self.data, "--memorisation",
                                                 code=2).stderr)
        page = self.folder / "seen.html"
        obol("report", run, "--out", page)
        self.assertIn("this run has seen privatised records alone", page.read_text())
        self.assertNotIn("row for each class", page.read_text())
        obol("release", run, "--out", self.folder / "bundle", "--count", 50)
        obol("verify", self.folder / "bundle")

    def test_plain_data_are_refused(self):
        for source in (self.data, "mnist", self.folder / "nothing.npz"):
            _, done = self.train("never", records=source, code=3 if source == self.data else 2)
            self.assertRegex(done.stderr, r"\Aobol: error: [^\n]*'obol privatize'[^\n]*\n\Z")
            self.assertFalse((self.folder / "never").exists())
        # And the other way round.
        refused = obol("train", self.recipe("plain"), "--out", self.folder / "never", "--set",
                       f"data.source={self.records}", code=3).stderr
        self.assertRegex(refused, r"\Aobol: error: [^\n]+\n\Z")

    def test_other_settings_than_the_matched_one_are_labelled(self):
        _, done = self.train("mismatch", "--set", "method.regularization=3", "--set", "method.epochs=0.1")
        self.assertIn("matched to the noise", done.stderr)
        denoised = self.folder / "denoised.npz"
        obol("denoise", self.records, "--oracle", self.data, "--out", denoised)
        _, done = self.train("denoised", "--set", "method.loss=wasserstein", "--set", "method.epochs=0.1",
                             records=denoised)
        self.assertIn("a baseline", done.stderr)
        refused = obol("train", self.small, "--out", self.folder / "never", "--set",
                       f"data.source={self.records}", "--set", "method.batch=301", code=2).stderr
        self.assertIn("at most the number of records, 300", refused)
        self.assertIn("certificate has the price", obol("account", self.small, code=2).stderr)

    def test_labels_by_randomised_response_give_a_generator_with_classes(self):
        records = self.folder / "labelled.npz"
        obol("privatize", self.data, "--mechanism", "gaussian", "--epsilon", 200, "--delta", 1e-4, "--radius", 20,
             "--labels", "randomized-response", "--label-epsilon", 2, "--out", records)
        run, _ = self.train("labelled", "--set", "method.epochs=8", records=records)
        self.assertEqual(len(self.events(run)), 2)
        obol("verify", run)
        page = self.folder / "labelled.html"
        obol("report", run, "--out", page)
        self.assertIn("One row for each class", page.read_text())
        samples = self.folder / "labelled-samples.npz"
        obol("sample", run, "--count", 90, "--seed", 1, "--out", samples)
        drawn = numpy.load(samples)
        # Every class has its own band brighter than the others' are.
        for label in range(3):
            mean = drawn["images"][drawn["labels"] == label].mean(axis=(0, 2))
            rows = [mean[4 + 8 * k:9 + 8 * k].mean() for k in range(3)]
            self.assertEqual(int(numpy.argmax(rows)), label, rows)

    def test_a_grid_shows_privatised_records(self):
        picture = self.folder / "noisy.png"
        obol("data", "grid", self.records, "--out", picture)
        self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))


class Experiments(WithImages):
    TINY = ("--set", "generator.width=4", "--set", "generator.latent=2", "--set", "method.iterations=10")

    def run_one(self, name, *words):
        out = self.folder / name
        done = subprocess.run(["/usr/bin/python3", SOURCE / "experiments" / name, out, "--data", self.data,
                               *map(str, words), *self.TINY],
                              capture_output=True, text=True, timeout=300, env={**os.environ, "OBOL": OBOL})
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def rows(self, path):
        with open(path, newline="") as file:
            return list(csv.DictReader(file))

    def test_distance_against_noise(self):
        out = self.run_one("ldp_noise", "--scales", "0.5,1", "--losses", "entropic,wasserstein", "--records", 300,
                           "--set", "method.batch=60", "--set", "method.epochs=1")
        rows = self.rows(out / "noise.csv")
        self.assertEqual([(row["scale"], row["loss"]) for row in rows],
                         [("0.5", "entropic"), ("0.5", "wasserstein"), ("1", "entropic"), ("1", "wasserstein")])
        for row in rows:
            self.assertAlmostEqual(float(row["excess"]),
                                   float(row["distance"]) ** 2 - float(row["between_real"]) ** 2, places=1)
        xml.etree.ElementTree.parse(out / "noise.svg")

    def test_distance_against_records(self):
        out = self.run_one("ldp_records", "--counts", "60,120", "--batch", 30, "--steps", 4)
        self.assertEqual([row["records"] for row in self.rows(out / "records.csv")], ["60", "120"])
        xml.etree.ElementTree.parse(out / "records.svg")

    def test_samples_at_published_levels(self):
        out = self.run_one("ldp_samples", "--gaussian", "41", "--laplace", "196", "--set", "method.batch=60",
                           "--set", "method.epochs=1")
        rows = self.rows(out / "samples.csv")
        self.assertEqual([row["mechanism"] for row in rows], ["gaussian", "laplace"])
        for row in rows:
            self.assertGreater(float(row["valid_epsilon"]), 1.3 * float(row["published_epsilon"]))
            self.assertTrue((out / f"{row['mechanism']}-{row['published_epsilon']}.png").exists())


class Plot(unittest.TestCase):
    def test_bad_tables_are_refused_in_one_sentence(self):
        table = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"table-{os.getpid()}.csv"
        self.addCleanup(lambda: table.unlink(missing_ok=True))
        words = ("plot", table, "--x", "a", "--y", "b", "--out", f"{table}.svg")
        for text, code in (("a,b\n", 3), ("a,b\n1\n", 3), ("a,b\n1,x\n", 3), ("a,c\n1,2\n", 2)):
            table.write_text(text)
            self.assertRegex(obol(*words, code=code).stderr, r"\Aobol: error: [^\n]+\n\Z")
            self.assertFalse(pathlib.Path(f"{table}.svg").exists())


if __name__ == "__main__":
    unittest.main()
