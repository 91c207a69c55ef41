"""Certificates that claim more than the ledger shows.

Attacked: the count "as published", which may be said to hold where it leaves releases out, and which whoever
hands a certificate on may forge; records that were denoised with the clean ones in hand; what was opened besides,
which a second certificate may forget; a tolerance of `obol verify` that is absolute.

What must hold: a number that is said to hold is never below what no accountant can beat for the whole ledger; a
certificate with another run's published count does not verify; what is not private does not hold; whatever was
opened stays in the certificate, and `obol verify` misses it where it is removed. No assertion is statistical.
"""
import json
import re
import shutil
import unittest

import numpy

from attack import Attack, certificate_of, write_splits
from support import write_ledger

RECIPE = """
[data]
source = "{data}"

[privacy]
barrier = "batch"
sampling_rate = 0.05
noise_multiplier = {noise}
steps = 30
delta = 1e-5
generated_batch = 10
follows = "dp-sinkhorn"

[generator]
width = 4
latent = 2

[method]
clip_norm = 1
regularization = 4

[run]
sample_every = 0
checkpoint_every = 1000
metrics_every = 100
"""
QUICK = ("--count", 50, "--classifiers", "logreg", "--no-quality")


class Certificates(Attack):
    def setUp(self):
        super().setUp()
        self.data = write_splits(self.folder / "data.npz", self.random)

    def train(self, name, noise=2):
        run = self.folder / name
        self.succeeds("train", self.recipe(name, RECIPE.format(data=self.data, noise=noise)), "--out", run)
        return run

    def check_published(self, claimed, guarantee, text):
        """`claimed` is the JSON of a published count or null; `text` is for people."""
        lower = guarantee["epsilon_lower"]
        if claimed and claimed["is_a_guarantee"]:
            self.assertGreaterEqual(claimed["epsilon"], lower, "a count that holds covers every release")
        for number in re.findall(r"gives epsilon ([\d.e+-]+), which holds as well", text):
            self.assertGreaterEqual(float(number), lower, text)

    def test_a_published_count_does_not_hold_for_releases_that_it_leaves_out(self):
        run = self.train("noisy")
        self.succeeds("evaluate", run, "--noisy", 1, *QUICK)
        self.succeeds("verify", run)
        certificate = certificate_of(run)
        self.assertGreater(certificate["guarantee"]["epsilon_lower"], 4, "one release with noise of one record")
        self.check_published(certificate["as_published"], certificate["guarantee"],
                             (run / "certificate.md").read_text())

    def test_a_price_does_not_leave_the_histogram_out(self):
        words = ["account", self.recipe("priced", RECIPE.format(data=self.data, noise=30)),
                 "--set", "privacy.histogram_noise=1"]
        priced = json.loads(self.succeeds(*words, "--json").stdout)
        self.assertGreater(priced["epsilon_lower"], 4)
        self.check_published(priced["as_published"], priced, self.succeeds(*words).stdout)

    def test_another_runs_published_count_does_not_verify(self):
        run, better = self.train("own", noise=1), self.train("better", noise=50)
        self.succeeds("verify", run)
        own, other = certificate_of(run), certificate_of(better)
        self.assertLess(other["as_published"]["epsilon"], own["guarantee"]["epsilon_lower"])
        forged = {**own, "as_published": {**other["as_published"], "paper": "an independent audit"}}
        (run / "certificate.json").write_text(json.dumps(forged, indent=2) + "\n")

        def sentence(folder):
            (found,) = re.findall(r"^As published.*$", (folder / "certificate.md").read_text(), re.MULTILINE)
            return found

        text = (run / "certificate.md").read_text().replace(
            sentence(run), sentence(better).replace(other["as_published"]["paper"], "an independent audit"))
        (run / "certificate.md").write_text(text)
        self.assertEqual(self.obol("verify", run).returncode, 7)

    def test_a_published_count_that_was_made_a_guarantee_does_not_verify(self):
        # Of the row barrier the paper's count is none.
        run = self.folder / "row"
        text = RECIPE.format(data=self.data, noise=2).replace('"batch"', '"row"')
        self.succeeds("train", self.recipe("row", text), "--out", run)
        self.succeeds("verify", run)
        certificate = certificate_of(run)
        self.assertFalse(certificate["as_published"]["is_a_guarantee"])
        certificate["as_published"]["is_a_guarantee"] = True
        (run / "certificate.json").write_text(json.dumps(certificate, indent=2) + "\n")
        page = (run / "certificate.md").read_text()
        page = re.sub(r"(gives epsilon [\d.e+-]+)\. That is not a guarantee:.*",
                      r"\1, which holds as well: the same releases, bounded less tightly.", page)
        (run / "certificate.md").write_text(page)
        self.assertEqual(self.obol("verify", run).returncode, 7)

    def test_what_was_opened_stays_in_every_certificate(self):
        run = self.train("opened")
        self.succeeds("evaluate", run, "--memorisation", *QUICK)
        reasons = {json.loads(line)["reason"] for line in (run / "disclosures.jsonl").read_text().splitlines()}
        self.assertGreaterEqual(len(reasons), 2)

        def check():
            for text in (json.dumps(certificate_of(run)["not_covered"]), (run / "certificate.md").read_text()):
                for reason in reasons:
                    self.assertIn(reason, text)
            self.succeeds("verify", run)

        with self.subTest("the certificate is renewed when something was opened"):
            check()
        self.succeeds("certify", run, "--delta", 1e-5)
        with self.subTest("a second certificate has it too"):
            check()

    def test_a_certificate_without_what_was_opened_does_not_verify(self):
        run = self.train("forgets")
        certificate = certificate_of(run)
        (kept,) = [line for line in certificate["not_covered"] if "what was opened" in line]
        certificate["not_covered"].remove(kept)
        (run / "certificate.json").write_text(json.dumps(certificate, indent=2) + "\n")
        page = (run / "certificate.md").read_text()
        self.assertIn(f"- {kept}\n", page)
        (run / "certificate.md").write_text(page.replace(f"- {kept}\n", ""))
        self.assertEqual(self.obol("verify", run).returncode, 7)

    def test_a_small_epsilon_cannot_be_claimed_to_be_smaller(self):
        folder = self.folder / "small"
        write_ledger(folder, [("training", {"mechanism": "Gaussian", "noise_multiplier": 123456, "count": 1})])
        self.succeeds("certify", folder, "--delta", 1e-10)
        certificate = certificate_of(folder)
        true = certificate["guarantee"]["epsilon"]
        self.assertTrue(0 < certificate["guarantee"]["epsilon_lower"] <= true < 1e-4, true)
        certificate["guarantee"]["epsilon"] = true - 9e-7
        (folder / "certificate.json").write_text(json.dumps(certificate, indent=2) + "\n")
        self.assertEqual(self.obol("verify", folder).returncode, 7)


LOCAL = """
[generator]
width = 4
latent = 2

[method]
name = "ldp-wgan"
batch = 30
epochs = 0.2
iterations = 10

[run]
sample_every = 0
checkpoint_every = 1000
metrics_every = 100
"""


class Denoised(Attack):
    def setUp(self):
        super().setUp()
        self.data = write_splits(self.folder / "data.npz", self.random)
        self.records = self.folder / "records.npz"
        if not self.records.exists():
            self.succeeds("privatize", self.data, "--mechanism", "gaussian", "--epsilon", 2, "--delta", 1e-4,
                          "--radius", 4, "--out", self.records)

    def train(self, name, records):
        run = self.folder / name
        return run, self.obol("train", self.recipe(name, LOCAL), "--out", run, "--set", f"data.source={records}")

    def test_records_that_were_denoised_with_the_clean_ones_give_no_guarantee(self):
        best = self.folder / "best.npz"
        self.succeeds("denoise", self.records, "--oracle", self.data, "--out", best)
        run, done = self.train("oracle", best)
        if done.returncode:
            self.assertFalse(any(run.glob("certificate.*")))
            return
        self.assertFalse(certificate_of(run)["guarantee"]["holds"])
        self.assertRegex((run / "certificate.md").read_text(), r"(?i)not private|no guarantee|does not hold")
        self.assertNotEqual(self.obol("release", run, "--out", self.folder / "handed", "--count", 10).returncode, 0)

    def test_records_that_were_denoised_by_a_choice_in_advance_do(self):
        chosen = self.folder / "chosen.npz"
        self.succeeds("denoise", self.records, "--wavelet", "haar", "--levels", 2, "--threshold", 1, "--out", chosen)
        run, done = self.train("chosen", chosen)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(certificate_of(run)["guarantee"]["holds"])
        self.succeeds("verify", run)

    def test_a_file_cannot_say_of_itself_that_it_cost_less(self):
        with numpy.load(self.records) as arrays:
            kept = dict(arrays)
        text = bytes(kept["privatization"].tobytes())
        self.assertIn(b'"noise_multiplier"', text)
        cheaper = json.loads(text)
        cheaper["scale"] *= 100
        for event in cheaper["events"]:
            event["event"]["noise_multiplier"] *= 100
        kept["privatization"] = numpy.frombuffer(json.dumps(cheaper, separators=(",", ":")).encode(), numpy.uint8)
        forged = self.folder / "forged.npz"
        numpy.savez(forged, **kept)
        shutil.copytree(self.folder / "records-certificate", self.folder / "forged-certificate", dirs_exist_ok=True)
        run, done = self.train("forged", forged)
        if done.returncode == 0:
            self.assertFalse(certificate_of(run)["guarantee"]["holds"])


if __name__ == "__main__":
    unittest.main()
