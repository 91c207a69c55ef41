"""What data have cost on this machine, in all runs, and copies of run folders that go on."""
import json
import os
import pathlib
import shutil
import signal
import tempfile
import unittest

import numpy

from training import WithImages, obol, start, wait_for_metrics


class DataSet(WithImages):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.ledgers = pathlib.Path(place.name) / "ledgers"
        before = os.environ["OBOL_LEDGERS"]
        os.environ["OBOL_LEDGERS"] = str(self.ledgers)
        self.addCleanup(os.environ.__setitem__, "OBOL_LEDGERS", before)

    def run_folder(self, name):
        folder = self.folder / name
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def uses(self, data=None):
        return json.loads(obol("account", "--data", data or self.data, "--json").stdout)

    def epsilon_of(self, run):
        return json.loads((run / "certificate.json").read_text())["guarantee"]["epsilon"]

    def test_runs_are_found_and_added_up_even_when_they_were_removed(self):
        self.assertEqual(self.uses(), {"uses": [], "totals": []})
        first, second = self.run_folder("first"), self.run_folder("second")
        recipe = self.recipe("found", 4)
        self.assertNotIn("these data were used", obol("train", recipe, "--out", first).stderr)
        epsilon = self.epsilon_of(first)
        said = obol("train", recipe, "--out", second).stderr
        self.assertRegex(said, r"these data were used once before on this machine: epsilon at most "
                               r"\d[\d.]* at delta 1e-05 \(add-remove\)")
        shutil.rmtree(first)
        found = self.uses()
        self.assertEqual([pathlib.Path(use["folder"]).name for use in found["uses"]], ["first", "second"])
        self.assertEqual([use["exists"] for use in found["uses"]], [False, True])
        for use in found["uses"]:
            self.assertAlmostEqual(use["epsilon"], epsilon, delta=1e-9)
        total, = found["totals"]
        self.assertEqual((total["uses"], total["neighbours"]), (2, "add-remove"))
        self.assertGreaterEqual(total["epsilon"], 2 * epsilon, "either may have been chosen by the other")
        text = obol("account", "--data", self.data).stdout
        self.assertIn("first", text)
        self.assertIn("removed", text)
        self.assertRegex(text, r"total +epsilon \d[\d.]* at delta 1e-05 \(add-remove\), 2 uses")

    def test_pictures_are_known_whatever_their_file_and_labels_are(self):
        run = self.run_folder("labelled")
        obol("train", self.recipe("labelled", 3), "--out", run)
        with numpy.load(self.data) as arrays:
            other = dict(arrays, y_train=numpy.zeros_like(arrays["y_train"]))
            fewer = dict(arrays, x_train=arrays["x_train"][1:], y_train=arrays["y_train"][1:])
        numpy.savez(self.folder / "other.npz", **other)
        numpy.savez(self.folder / "fewer.npz", **fewer)
        self.assertEqual(len(self.uses(self.folder / "other.npz")["uses"]), 1)
        self.assertEqual(len(self.uses(self.folder / "fewer.npz")["uses"]), 0)

    def test_each_split_of_a_file_has_costs_of_its_own(self):
        with numpy.load(self.data) as arrays:
            train, labels = arrays["x_train"], arrays["y_train"][:, None]
        numpy.savez(self.folder / "med.npz", train_images=train[:200], train_labels=labels[:200],
                    val_images=train[200:], val_labels=labels[200:], test_images=self.test_images,
                    test_labels=self.test_labels[:, None])
        numpy.savez(self.folder / "alone.npz", train_images=train[:200], train_labels=labels[:200])
        data = self.folder / "med.npz"
        count = lambda path, *more: len(json.loads(obol("account", "--data", path, *more, "--json").stdout)["uses"])
        run = self.run_folder("trained on train")
        source = ("--set", f"data.source={data}")
        obol("train", self.recipe("splits", 3), *source, "--out", run)
        self.assertEqual(json.loads((run / "ledger.jsonl").read_text().splitlines()[0])["records"], 200)
        self.assertEqual([count(data), count(data, "--split", "validation"), count(data, "--split", "test"),
                          count(self.folder / "alone.npz")], [1, 0, 0, 1])
        obol("train", self.recipe("splits", 3), *source, "--set", "data.split=validation", "--out",
             self.run_folder("trained on validation"))
        self.assertEqual([count(data), count(data, "--split", "validation")], [1, 1])
        found = json.loads(obol("evaluate", run, "--count", 60, "--classifiers", "logreg", "--no-quality",
                                "--json").stdout)
        self.assertEqual((found["against"], found["test"]), ("test", 120))

    def test_a_run_that_is_not_private_is_not_counted(self):
        run = self.run_folder("seeded")
        obol("train", self.recipe("seeded", 3), "--out", run, "--set", "method.seed=3")
        self.assertEqual(self.uses()["uses"], [])

    def test_a_stage_that_was_chosen_later_counts(self):
        run = self.run_folder("looked at")
        recipe = self.recipe("looked at", 4, ("epsilon = 10", "epsilon = 20\nnoise_multiplier = 2"))
        obol("train", recipe, "--out", run)
        before = self.epsilon_of(run)
        obol("evaluate", run, "--count", 60, "--classifiers", "logreg", "--no-quality", "--noisy", 20)
        use, = self.uses()["uses"]
        self.assertGreater(self.epsilon_of(run), before)
        self.assertAlmostEqual(use["epsilon"], self.epsilon_of(run), delta=1e-9)

    def test_privatised_records_are_counted(self):
        command = ("privatize", self.data, "--mechanism", "laplace", "--epsilon", 20, "--radius", 8, "--out")
        for name in ("p1", "p2"):
            self.run_folder(f"{name}-certificate")
            said = obol(*command, self.folder / f"{name}.npz").stderr
        self.assertIn("these data were used once before", said)
        total, = self.uses()["totals"]
        self.assertEqual((total["neighbours"], total["delta"], total["uses"]), ("person", 0, 2))
        self.assertAlmostEqual(total["epsilon"], 40, delta=1e-3)
        obol(*command, self.folder / "p3.npz", "--seed", 1)
        self.assertEqual(len(self.uses()["uses"]), 2)

    def interrupted(self, name, steps=400):
        run = self.run_folder(name)
        recipe = self.recipe(name, steps)
        child = start("train", recipe, "--out", run)
        wait_for_metrics(run)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=120)
        self.assertEqual(child.returncode, 130)
        return recipe, run

    def test_a_copy_of_a_run_does_not_go_on_beside_it(self):
        recipe, run = self.interrupted("original")
        copy = self.run_folder("copy")
        shutil.copytree(run, copy)
        ledger = (copy / "ledger.jsonl").read_bytes()
        resume = ("--quiet", "train", recipe, "--resume", "--out")
        said = obol(*resume, copy, code=3).stderr
        self.assertRegex(said, r"\Aobol: error: [^\n]*copy must be the one place where its run goes on, but is "
                               r"a copy of a run that is at [^\n]*original[^\n]*\n\Z")
        obol(*resume, run)
        obol(*resume, copy, code=3)
        said = obol("--quiet", "evaluate", copy, "--count", 60, "--classifiers", "logreg", "--no-quality",
                    "--noisy", 20, code=3).stderr
        self.assertIn("is a copy of a run", said)
        shutil.rmtree(run)
        self.assertIn("went on at", obol(*resume, copy, code=3).stderr)
        self.assertEqual((copy / "ledger.jsonl").read_bytes(), ledger, "nothing was released from it")
        self.assertEqual(len(self.uses()["uses"]), 1)

    def test_a_folder_that_was_moved_goes_on(self):
        recipe, run = self.interrupted("here", 60)
        there = self.run_folder("there")
        run.rename(there)
        obol("train", recipe, "--resume", "--out", there)
        use, = self.uses()["uses"]
        self.assertEqual(pathlib.Path(use["folder"]).name, "there")

    def test_without_a_place_for_it_training_goes_on_with_a_warning(self):
        for number, change in enumerate(({"OBOL_LEDGERS": "/dev/null/ledgers"}, {"OBOL_LEDGERS": "", "HOME": ""})):
            run = self.run_folder(f"homeless {number}")
            said = obol("train", self.recipe("homeless", 3), "--out", run, env={**os.environ, **change}).stderr
            self.assertEqual(said.count("is not kept on this machine"), 1, said)
            obol("verify", run)


if __name__ == "__main__":
    unittest.main()
