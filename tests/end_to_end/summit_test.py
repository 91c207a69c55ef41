"""obol train with the summit method: three signals from one budget, each alone, killed and resumed."""
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
{privacy}

[generator]
width = 4
latent = 2
output = "sigmoid"

[method]
name = "summit"
frequencies = 40
steps = {steps}
batch = 12
teacher_steps = 10
teacher_rate = 0.3
second_batch = 6
{method}

[run]
sample_every = 0
checkpoint_every = 5
metrics_every = 1
"""
TRANSPORT = """sampling_rate = 0.3
steps = 5
generated_batch = 6
histogram_noise = 20
"""


class Summit(WithImages):
    def written(self, name, steps, privacy=TRANSPORT, method="transport_share = 0.2"):
        path = self.folder / f"{name}.toml"
        path.write_text(RECIPE.format(data=self.data, steps=steps, privacy=privacy, method=method))
        return path

    def paid(self, run):
        total = {}
        for line in (run / "ledger.jsonl").read_text().splitlines():
            entry = json.loads(line)
            if entry["kind"] == "reserve":
                total[entry["purpose"]] = total.get(entry["purpose"], 0) + entry["event"]["count"]
        return total

    def check_certificate(self, run):
        obol("verify", run)
        guarantee = json.loads((run / "certificate.json").read_text())["guarantee"]
        self.assertLessEqual(guarantee["epsilon"], 2)
        self.assertGreater(guarantee["epsilon"], 1.99)

    def test_three_signals_share_one_budget_and_one_certificate(self):
        recipe = self.written("whole", 20)
        priced = obol("account", recipe).stdout
        for purpose in ("moments", "teacher", "training", "class histogram"):
            self.assertIn(purpose, priced)
        self.assertIn("epsilon 2", priced)
        run = self.folder / "whole"
        obol("train", recipe, "--out", run)
        self.assertEqual(self.paid(run), {"class histogram": 1, "moments": 1, "teacher": 10, "training": 5})
        self.check_certificate(run)
        obol("sample", run, "--count", 6, "--out", self.folder / "six.npz")
        obol("release", run, "--count", 6, "--out", self.folder / "release")
        self.assertIn("summit", (self.folder / "release" / "DATA_CARD.md").read_text())

    def test_each_signal_works_alone(self):
        alone = {"moments": ("", "teacher_share = 0", {"moments": 1}),
                 "teacher": ("", "moments_share = 0", {"teacher": 10}),
                 "transport": (TRANSPORT, "moments_share = 0\nteacher_share = 0\ntransport_share = 1",
                               {"class histogram": 1, "training": 5})}
        for name, (privacy, method, paid) in alone.items():
            with self.subTest(name):
                run = self.folder / name
                obol("train", self.written(name, 8, privacy, method), "--out", run)
                self.assertEqual(self.paid(run), paid)
                self.check_certificate(run)

    def test_a_killed_run_resumes_and_never_pays_too_little(self):
        recipe = self.written("killed", 400)
        run = self.folder / "killed"
        process = start("train", recipe, "--out", run, "--set", "privacy.spare_steps=5")
        wait_for_metrics(run)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        obol("train", recipe, "--out", run, "--resume", "--threads", 1, "--set", "privacy.spare_steps=5")
        paid = self.paid(run)
        self.assertEqual(paid["moments"], 1)
        self.assertGreaterEqual(paid["teacher"], 10)
        self.check_certificate(run)

    def test_keys_without_a_meaning_are_refused(self):
        recipe = self.written("refused", 3, "", "")
        done = obol("train", recipe, "--out", self.folder / "refused", "--set", "privacy.sampling_rate=0.1", code=2)
        self.assertIn("privacy.sampling_rate must be left out where method.transport_share is 0", done.stderr)
        done = obol("train", recipe, "--out", self.folder / "refused", "--set", "generator.output=\"tanh\"", code=2)
        self.assertIn("generator.output must be \"sigmoid\" with method summit", done.stderr)
        self.assertFalse((self.folder / "refused").exists())


if __name__ == "__main__":
    unittest.main()
