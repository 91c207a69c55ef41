"""obol train with the summit method: three signals from one budget, each alone, killed and resumed."""
import hashlib
import json
import shutil
import signal
import unittest

import numpy

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

    def sampled(self, source, *options):
        """Images and labels."""
        out = self.folder / "sampled.npz"
        obol("sample", source, "--seed", 3, "--out", out, *options)
        with numpy.load(out) as samples:
            return samples["images"], samples["labels"]

    def evaluated(self, run, *options):
        return json.loads(obol("evaluate", run, "--count", 60, "--classifiers", "logreg", "--no-quality", "--json",
                               *options).stdout)

    def test_samples_have_the_labels_that_the_teacher_sees(self):
        run, release = self.folder / "taught", self.folder / "taught-release"
        obol("train", self.written("taught", 40, "", "transport_share = 0\nteacher_learning_rate = 1"), "--out", run)
        self.assertTrue((run / "teacher.safetensors").is_file())
        images, labels = self.sampled(run, "--count", 60)
        asked_images, asked = self.sampled(run, "--count", 60, "--no-teacher")
        self.assertTrue((images == asked_images).all(), "only the labels differ")
        self.assertEqual(list(asked), [k % 3 for k in range(60)])
        self.assertNotEqual(list(labels), list(asked))
        _, of_file = self.sampled(run / "generator.safetensors", "--count", 60)
        self.assertEqual(list(of_file), list(asked), "a generator alone has no teacher")
        # One class alone: what the teacher takes for it, the same as among all.
        common = int(numpy.bincount(labels).argmax())
        picked, labels_of_picked = self.sampled(run, "--count", 10, "--label", common)
        self.assertEqual(set(labels_of_picked), {common})
        self.assertTrue((picked == images[labels == common][:10]).all())
        self.assertEqual(self.evaluated(run)["labelled_by"], "teacher")
        self.assertNotIn("labelled_by", self.evaluated(run, "--no-teacher"))
        # A release is enough to make the same.
        obol("release", run, "--out", release, "--count", 60, "--seed", 3)
        self.assertIn("12 files", obol("verify", release).stdout)
        self.assertEqual((release / "teacher.safetensors").read_bytes(), (run / "teacher.safetensors").read_bytes())
        with numpy.load(release / "samples.npz") as samples:
            self.assertTrue((samples["images"] == images).all())
            self.assertEqual(list(samples["labels"]), list(labels))
        self.assertEqual(list(self.sampled(release, "--count", 60)[1]), list(labels))
        self.assertEqual(list(self.sampled(release, "--count", 60, "--no-teacher")[1]), list(asked))
        for page in ("DATA_CARD.md", "report.html"):
            self.assertIn("given by a private classifier", (release / page).read_text())
        self.check_a_hostile_teacher_is_refused(release)

    def check_a_hostile_teacher_is_refused(self, release):
        whole = (release / "teacher.safetensors").read_bytes()
        lies = {"text": b"numbers", "short": whole[:-8], "generator": (release / "generator.safetensors").read_bytes(),
                "nan": self.summed(whole[:-8] + b"\xff" * 8), "classes": self.summed(
                    whole.replace(b'"num_classes":"3"', b'"num_classes":"2"'))}
        self.assertEqual(self.summed(whole), whole)
        for name, content in lies.items():
            with self.subTest(name):
                foreign = self.folder / f"foreign-{name}"
                shutil.copytree(release, foreign)
                (foreign / "teacher.safetensors").write_bytes(content)
                (foreign / "SHA256SUMS").unlink()
                (foreign / "SHA256SUMS").write_text("".join(
                    f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
                    for path in sorted(foreign.iterdir())))
                out = self.folder / "refused.npz"
                for command, code in ((("sample", foreign, "--count", 4, "--out", out), 3),
                                      (("evaluate", foreign, "--against", self.data, "--count", 60), 3),
                                      (("verify", foreign), 7)):
                    said = obol(*command, code=code).stderr
                    self.assertRegex(said, r"\A(obol: [^\n]*\n)?obol: error: [^\n]*teacher.safetensors[^\n]*\n\Z")
                self.assertFalse(out.exists())
                obol("sample", foreign, "--count", 4, "--no-teacher", "--out", out)
                out.unlink()

    @staticmethod
    def summed(whole):
        """With the checksum that a file of that content has."""
        at = whole.index(b'"sha256":"') + 10
        plain = whole[:at] + b"0" * 64 + whole[at + 64:]
        return plain[:at] + hashlib.sha256(plain).hexdigest().encode() + plain[at + 64:]

    def test_a_teacher_that_does_not_relabel_stays_at_home(self):
        run = self.folder / "unlabelled"
        obol("train", self.written("unlabelled", 3, "", "relabel = false"), "--out", run)
        self.assertFalse((run / "teacher.safetensors").exists())
        self.assertEqual(list(self.sampled(run, "--count", 6)[1]), [0, 1, 2, 0, 1, 2])

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
