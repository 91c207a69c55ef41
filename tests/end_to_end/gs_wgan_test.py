"""obol train of GS-WGAN: as a user would."""
import json
import os
import signal
import unittest

from training import WithImages, obol, start, wait_for_metrics

RECIPE = """
[data]
source = "{data}"
classes = 3

[privacy]
barrier = "row"
shards = 3
noise_multiplier = 2
steps = {steps}
generated_batch = 6
delta = 1e-5
follows = "gs-wgan"

[generator]
width = 4
latent = 2

[method]
name = "gs-wgan"
critic_width = 4
critic_steps = 2
warm_start = 2
average = 0.9

[run]
sample_every = 40
checkpoint_every = 10
metrics_every = 1
"""


def uses_paid(run):
    """Of every shard, by the ledger."""
    return sum(json.loads(line)["event"]["count"] for line in (run / "ledger.jsonl").read_text().splitlines()
               if json.loads(line)["kind"] == "reserve")


class GsWgan(WithImages):
    def recipe(self, name, steps, *changes):
        text = RECIPE.format(data=self.data, steps=steps)
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        path = self.folder / f"{name}.toml"
        path.write_text(text)
        return path

    def test_a_run_has_a_certificate_and_keeps_its_critics(self):
        run = self.folder / "whole"
        obol("train", self.recipe("whole", 20), "--out", run)
        self.assertEqual(uses_paid(run), 7)  # turns of the first of three shards
        obol("verify", run)
        certificate = json.loads((run / "certificate.json").read_text())
        self.assertEqual(certificate["guarantee"]["neighbours"], "replace-one")
        self.assertFalse(certificate["as_published"]["is_a_guarantee"])
        self.assertEqual(len(list((run / "private" / "critics").iterdir())), 3)
        self.assertEqual((run / "private").stat().st_mode & 0o077, 0)
        # What is handed over has none of them.
        bundle = self.folder / "bundle"
        obol("release", run, "--out", bundle, "--count", "30")
        self.assertFalse([path for path in bundle.rglob("*") if "critic" in path.name or "turn" in path.name])
        obol("evaluate", run, "--count", "200", "--classifiers", "logreg", "--no-quality")

    def test_killed_it_goes_on_and_counts_no_less(self):
        run = self.folder / "killed"
        recipe = self.recipe("killed", 200, ("delta = 1e-5", "delta = 1e-5\nspare_steps = 110"))
        training = start("train", recipe, "--out", run)
        wait_for_metrics(run)
        os.kill(training.pid, signal.SIGKILL)
        training.communicate()
        steps = [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().split("\n")[:-1]]
        self.assertLess(steps[-1], 200, "killed in time")
        before = uses_paid(run)
        self.assertGreaterEqual(before, -(-steps[-1] // 3))
        self.assertIn("finished 200 steps", obol("train", recipe, "--out", run, "--resume").stdout)
        # Turns that were reserved when it was killed are nobody's, at most a block of them.
        self.assertGreaterEqual(uses_paid(run), -(-200 // 3))
        self.assertLessEqual(uses_paid(run), -(-(200 + 100 + 10) // 3))
        obol("verify", run)

    def test_killed_without_spare_steps_it_ends_within_its_plan(self):
        run = self.folder / "killed early"
        recipe = self.recipe("killed early", 200)
        training = start("train", recipe, "--out", run)
        wait_for_metrics(run)
        os.kill(training.pid, signal.SIGKILL)
        training.communicate()
        said = obol("train", recipe, "--out", run, "--resume").stdout
        self.assertRegex(said, r"ended after step \d+ of 200, when all that was planned was paid for")
        self.assertEqual(uses_paid(run), -(-200 // 3))
        planned = json.loads(obol("account", recipe, "--json").stdout)["epsilon"]
        certificate = json.loads((run / "certificate.json").read_text())
        self.assertAlmostEqual(certificate["guarantee"]["epsilon"], planned, delta=1e-9)

    def test_a_budget_ends_it(self):
        run = self.folder / "budget"
        recipe = self.recipe("budget", 60, ("delta = 1e-5", "delta = 1e-5\nepsilon = 20"))
        done = obol("train", recipe, "--out", run)
        self.assertRegex(done.stdout, r"stopped by the budget after step [1-9]\d* of 60")
        self.assertLessEqual(json.loads((run / "certificate.json").read_text())["guarantee"]["epsilon"], 20)
        recipe = self.recipe("too little", 60, ("delta = 1e-5", "delta = 1e-5\nepsilon = 5"))
        said = obol("train", recipe, "--out", self.folder / "too little", code=4).stderr
        self.assertIn("epsilon must be enough for one step", said)
        self.assertFalse((self.folder / "too little").exists())

    def test_critics_that_are_warm_serve_the_next_run(self):
        recipe = self.recipe("cached", 3, ("warm_start = 2", f'warm_start = 2\nwarm_cache = "{self.folder}/warm"'))
        obol("train", recipe, "--out", self.folder / "cached1")
        kept = {path: path.stat().st_mtime_ns for path in (self.folder / "warm").rglob("*.critic")}
        self.assertEqual(len(kept), 3)
        obol("train", recipe, "--out", self.folder / "cached2")
        self.assertEqual(kept, {path: path.stat().st_mtime_ns for path in (self.folder / "warm").rglob("*.critic")})

    def test_what_does_not_go_together_is_refused_with_its_line(self):
        for change, words in [(('barrier = "row"', 'barrier = "record"'), "privacy.barrier must be row, batch or none"),
                              (("shards = 3", "shards = 301"), "privacy.shards must be at most the number of records"),
                              (("shards = 3\n", ""), "privacy.shards must be given"),
                              (('name = "gs-wgan"', 'name = "gs-gan"'), "method.name must be one of")]:
            if change[1] == "":
                change = ("shards = 3\n", "sampling_rate = 0.1\n")
                words = "privacy.shards must be given"
            recipe = self.recipe("bad", 3, change)
            done = obol("train", recipe, "--out", self.folder / "bad", code=2)
            self.assertIn(words, done.stderr)
            self.assertFalse((self.folder / "bad").exists())


if __name__ == "__main__":
    unittest.main()
