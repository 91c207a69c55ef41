"""obol train with DP-MERF: one release, any number of steps, killed and resumed."""
import json
import signal
import unittest

from training import WithImages, obol, start, wait_for_metrics

RECIPE = """
[data]
source = "{data}"

[privacy]
epsilon = 2
delta = 1e-5

[generator]
width = 4
latent = 2
output = "sigmoid"

[method]
name = "dp-merf"
frequencies = 40
steps = {steps}
batch = 12

[run]
sample_every = 0
checkpoint_every = 5
metrics_every = 1
"""


class DpMerf(WithImages):
    def written(self, name, steps):
        path = self.folder / f"{name}.toml"
        path.write_text(RECIPE.format(data=self.data, steps=steps))
        return path

    def paid(self, run):
        lines = [json.loads(line) for line in (run / "ledger.jsonl").read_text().splitlines()]
        return [(line["purpose"], line["event"]["count"]) for line in lines if line["kind"] == "reserve"]

    def test_a_run_pays_once_and_its_certificate_is_of_the_budget(self):
        recipe = self.written("whole", 20)
        self.assertIn("epsilon 2", obol("account", recipe).stdout)
        run = self.folder / "whole"
        obol("train", recipe, "--out", run)
        self.assertEqual(self.paid(run), [("mean embedding", 1)])
        obol("verify", run)
        guarantee = json.loads((run / "certificate.json").read_text())["guarantee"]
        self.assertLessEqual(guarantee["epsilon"], 2)
        self.assertGreater(guarantee["epsilon"], 1.99)
        obol("sample", run, "--count", 6, "--out", self.folder / "six.npz")
        obol("release", run, "--count", 6, "--out", self.folder / "release")
        card = (self.folder / "release" / "DATA_CARD.md").read_text()
        self.assertIn("| dp-merf; every value", card)

    def test_a_killed_run_goes_on_and_pays_no_more(self):
        recipe = self.written("killed", 1000)
        run = self.folder / "killed"
        process = start("train", recipe, "--out", run)
        wait_for_metrics(run)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        obol("train", recipe, "--out", run, "--resume", "--threads", 1)
        self.assertEqual(self.paid(run), [("mean embedding", 1)])
        self.assertEqual(json.loads((run / "outcome.json").read_text())["steps"], 1000)

    def test_keys_without_a_meaning_are_refused(self):
        recipe = self.written("refused", 3)
        done = obol("train", recipe, "--out", self.folder / "refused", "--set", "privacy.sampling_rate=0.1", code=2)
        self.assertIn("privacy.sampling_rate must be left out with method dp-merf", done.stderr)
        self.assertFalse((self.folder / "refused").exists())


if __name__ == "__main__":
    unittest.main()
