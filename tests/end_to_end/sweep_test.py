"""obol sweep, as a user would: a grid of runs, stopped and gone on with, one table, one total."""
import csv
import json
import signal
import unittest
import xml.etree.ElementTree

from support import write_ledger
from training import WithImages, obol, start, wait_for_metrics

QUICK = ("--classifiers", "logreg,mlp", "--count", 120)
ONE = ("--threads", 1)  # several would wait for each other on a busy machine


def table(folder):
    with open(folder / "sweep.csv", newline="") as file:
        return list(csv.DictReader(file))


class Sweep(WithImages):
    def refused(self, *arguments, code=2):
        said = obol("sweep", *arguments, code=code).stderr
        self.assertRegex(said, r"\Aobol: error: [^\n]+\n\Z")
        return said

    def test_killed_and_interrupted_it_goes_on_and_ends_with_one_table(self):
        # The noise leaves room in the budget for steps that are paid for twice.
        recipe = self.recipe("grid", 120)
        out = self.folder / "grid"
        command = ("sweep", recipe, "--grid", "privacy.noise_multiplier=6,8",
                   "--grid", "method.self_weight=0.5,1", "--out", out, *QUICK)
        runs = [out / f"noise_multiplier={noise},self_weight={weight}"
                for noise in (6, 8) for weight in (0.5, 1)]
        child = start(*command)
        wait_for_metrics(runs[0])
        child.send_signal(signal.SIGINT)
        said, err = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 130, err)
        self.assertIn("interrupted with 0 of 4 runs done; the same command goes on", said)
        self.assertEqual([row["state"] for row in table(out)], 4 * ["not finished"])
        self.assertFalse(runs[1].exists())

        child = start(*command)
        wait_for_metrics(runs[2])
        child.kill()
        child.communicate()
        finished = {path: path.stat().st_mtime_ns for run in runs[:2]
                    for path in (run / "generator.safetensors", run / "evaluation.json")}
        self.assertFalse((runs[2] / "outcome.json").exists())

        done = obol(*command, *ONE)
        self.assertRegex(done.stderr, r"run 3 of 4: noise_multiplier=8,self_weight=0.5\n")
        self.assertRegex(done.stderr, r"run 4 of 4, about .* left: noise_multiplier=8,self_weight=1\n")
        self.assertNotIn("run 2 of 4", done.stderr)
        for path, when in finished.items():
            self.assertEqual(path.stat().st_mtime_ns, when, f"{path} was made anew")
        rows = table(out)
        self.assertEqual([(row["privacy.noise_multiplier"], row["method.self_weight"]) for row in rows],
                         [("6", "0.5"), ("6", "1"), ("8", "0.5"), ("8", "1")])
        for row, run in zip(rows, runs):
            self.assertEqual((row["runs"], row["state"], row["error"]), ("1", "", ""))
            scores = json.loads((run / "evaluation.json").read_text())["classifiers"]
            self.assertEqual(float(row["mlp"]), scores["mlp"]["accuracy"])
            certificate = json.loads((run / "certificate.json").read_text())
            self.assertAlmostEqual(float(row["certified_epsilon"]), certificate["guarantee"]["epsilon"])
            self.assertIn("hyper-parameters", " ".join(certificate["not_covered"]))
            self.assertIn("finished 120 steps", json.dumps(json.loads(
                (out / "sweep.json").read_text())["points"]))
        self.assertIn("Choosing among runs is covered by none", " ".join(done.stdout.split()))
        svg = xml.etree.ElementTree.parse(out / "sweep.svg").getroot()
        space = "{http://www.w3.org/2000/svg}"
        self.assertEqual(svg.find(f"{space}title").text, "Accuracy of mlp against noise_multiplier")
        self.assertEqual(len(svg.findall(f"{space}circle")), 4)
        again = obol(*command)
        self.assertEqual((again.stdout, again.stderr), (done.stdout, ""), "nothing is left to do")

        total = json.loads(obol("account", out, "--json").stdout)
        self.assertEqual(len(total["runs"]), 4)
        for cost in total["runs"]:
            self.assertGreater(total["epsilon"], cost["epsilon"])
        events = []
        for run in runs:
            for cost in json.loads(obol("account", run, "--json").stdout)["events"]:
                events.append(("training", cost["event"]))
        merged = write_ledger(self.folder / "merged", events)
        by_hand = json.loads(obol("account", merged, "--delta", "1e-5", "--json").stdout)
        self.assertAlmostEqual(total["epsilon_if_fixed"], by_hand["epsilon"], delta=1e-9)
        self.assertGreater(total["epsilon"], total["epsilon_if_fixed"])

    def test_what_fails_is_recorded_and_the_rest_goes_on_and_can_be_extended(self):
        out = self.folder / "some"
        command = ("sweep", self.recipe("some", 3), "--out", out, *QUICK, *ONE)
        epsilons = ("--grid", "privacy.epsilon=0.01,10")
        done = obol(*command, *epsilons, code=2)
        bad, good = table(out)
        self.assertEqual((bad["state"], bad["runs"], bad["mlp"]), ("failed", "0", ""))
        self.assertIn("epsilon 0.01", bad["error"])
        self.assertIn(f"epsilon=0.01: {bad['error']}", done.stdout)
        self.assertEqual((good["state"], good["error"]), ("", ""))
        svg = (out / "sweep.svg").read_text()
        self.assertIn("Accuracy against epsilon", svg)

        evaluation = out / "epsilon=10" / "evaluation.json"
        before = evaluation.stat().st_mtime_ns
        obol(*command, "--grid", "privacy.epsilon=10,30", "--repeat", 2)
        self.assertEqual(evaluation.stat().st_mtime_ns, before)
        self.assertEqual([row["runs"] for row in table(out)], ["2", "2"])
        self.assertNotEqual(table(out)[0]["mlp_deviation"], "")
        self.assertTrue((out / "epsilon=30,run=2" / "generator.safetensors").is_file())
        obol(*command, "--grid", "privacy.epsilon=10", "--seeds", 2)
        self.assertEqual(json.loads(evaluation.read_text())["seeds"], 2)

        certificate = out / "epsilon=10" / "certificate.json"
        text = certificate.read_text()
        certificate.write_text(text.replace('"epsilon": 9', '"epsilon": 1'))
        obol(*command, "--grid", "privacy.epsilon=10", code=3)
        self.assertIn("guarantee.epsilon", table(out)[0]["error"])
        certificate.write_text(text)

        said = self.refused(*command[1:], *epsilons, "--set", "method.clip_norm=5")
        self.assertIn("clip_norm", said)
        self.assertIn("the recipe must be that of the run", said)

    def test_without_evaluation_there_is_a_table_and_no_picture(self):
        out = self.folder / "alone"
        obol("sweep", self.recipe("alone", 2), "--grid", "method.cost=l1,mixture:1", "--out", out,
             "--no-evaluate", *ONE)
        self.assertEqual([row["runs"] for row in table(out)], ["1", "1"])
        self.assertNotIn("mlp", table(out)[0])
        self.assertFalse((out / "sweep.svg").exists())
        self.assertTrue((out / "cost=mixture:1" / "generator.safetensors").is_file())

    def test_what_cannot_be_meant_is_refused_before_anything_is_run(self):
        out = self.folder / "never"
        recipe = self.recipe("never")
        cases = {
            ("method.self_wait=1",): "Did you mean self_weight",
            ("method.self_weight=0.5,2",): "method.self_weight must be between 0 and 1, but is 2",
            ("method.self_weight",): "--grid must be section.key=value,value,...",
            ("method.self_weight=1,1",): "given twice",
            ("method.seed=1", "--repeat", 2): "--repeat must be 1 with method.seed",
            ("method.self_weight=1", "--repeat", 0): "--repeat must be from 1",
            ("method.self_weight=1", "--count", 0): "--count must be at least 1",
        }
        for grid, message in cases.items():
            with self.subTest(grid):
                self.assertIn(message, self.refused(recipe, "--grid", *grid, "--out", out))
                self.assertFalse(out.exists())
        run = self.folder / "single"
        obol("train", recipe, "--out", run, *ONE)
        self.assertIn("a folder for several runs", self.refused(
            recipe, "--grid", "method.self_weight=1", "--out", run))


if __name__ == "__main__":
    unittest.main()
