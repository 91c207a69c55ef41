"""What certificates claim, against what was done: as a user would, honest or not."""
import hashlib
import json
import os
import random
import shutil
import signal
import time
import unittest
import unittest.mock

import numpy

from training import WithImages, bands, obol, start

GS_WGAN = """
[data]
source = "{data}"

[privacy]
barrier = "batch"
shards = 4
noise_multiplier = 5
steps = 100000
generated_batch = 6
delta = 1e-5

[generator]
width = 4
latent = 2

[method]
name = "gs-wgan"
critic_width = 4
critic_steps = 1
warm_start = 2

[run]
sample_every = 0
checkpoint_every = 10
metrics_every = 1
"""

LOCAL = """
[generator]
width = 4
latent = 2

[method]
name = "ldp-wgan"
batch = 30
epochs = 0.2
iterations = 10
"""


def lines_of(path):
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []


def paid_answers(run):
    """Of every shard, by the ledger, for training alone."""
    return sum(line["event"]["count"] for line in lines_of(run / "ledger.jsonl")
               if line["kind"] == "reserve" and line["purpose"] == "training")


def certificate_of(run):
    return json.loads((run / "certificate.json").read_text())


def change(run, edit):
    certificate = certificate_of(run)
    edit(certificate)
    (run / "certificate.json").write_text(json.dumps(certificate, indent=2) + "\n")


class PaidIsUsed(WithImages):
    """GS-WGAN, under what people do to run folders. Each step is an answer of one of four shards."""

    def setUp(self):
        self.recipe_path = self.folder / "gs.toml"
        self.recipe_path.write_text(GS_WGAN.format(data=self.data))
        self.steps = 0  # taken in all, at least
        self.at = 0     # the last one of the session before

    def session(self, run, count, how, *words):
        """Trains for some more steps until it is stopped."""
        training = start("train", self.recipe_path, "--out", run, *words)
        last = self.at
        deadline = time.monotonic() + 120
        while last < self.at + count and time.monotonic() < deadline and training.poll() is None:
            time.sleep(0.01)
            last = max([line["step"] for line in lines_of(run / "metrics.jsonl")] or [0])
        if training.poll() is None:
            os.kill(training.pid, how)
        out, said = training.communicate()
        last = max([line["step"] for line in lines_of(run / "metrics.jsonl")] or [0])
        if "all that was planned" not in out + said:  # kills use up a plan
            self.assertGreater(last, self.at, said)
        self.steps += max(0, last - self.at)
        self.at = last if training.returncode == -signal.SIGKILL else json.loads((run / "outcome.json").read_text())["steps"]
        self.check(run)

    def check(self, run):
        self.assertGreaterEqual(4 * paid_answers(run), self.steps)

    def noisy(self, run, times):
        for _ in range(times):
            obol("evaluate", run, "--noisy", 100000, "--count", 40, "--classifiers", "logreg", "--no-quality")
        self.check(run)

    def test_noisy_evaluations_pay_for_no_answers(self):
        run = self.folder / "noisy"
        self.session(run, 40, signal.SIGINT)
        before = paid_answers(run)
        self.noisy(run, 6)
        self.session(run, 40, signal.SIGINT, "--resume")
        self.assertGreaterEqual(paid_answers(run), before + 9)
        obol("verify", run)

    def test_lost_files_give_no_answers_back(self):
        run = self.folder / "lost"
        self.session(run, 40, signal.SIGINT)
        shutil.rmtree(run / "private" / "critics")
        for name in ("turns.json", "README"):
            (run / "private" / name).unlink(missing_ok=True)
        self.session(run, 60, signal.SIGINT, "--resume")
        obol("verify", run)

    def test_random_sequences_of_commands(self):
        for seed in range(3):
            dice = random.Random(seed)
            self.steps = self.at = 0
            run = self.folder / f"random{seed}"
            copy = self.folder / f"copy{seed}"
            self.session(run, 5, signal.SIGINT)
            shutil.copytree(run / "private", copy)
            for _ in range(5):
                action = dice.randrange(5)
                if action == 0:
                    self.noisy(run, dice.randint(1, 3))
                elif action == 1:
                    shutil.rmtree(run / "private")
                    shutil.copytree(copy, run / "private")
                elif action == 2:
                    shutil.rmtree(run / "private" / "critics")
                how = signal.SIGKILL if dice.random() < 0.4 else signal.SIGINT
                self.session(run, dice.randint(1, 60), how, "--resume")
            self.session(run, 5, signal.SIGINT, "--resume")
            obol("verify", run)

    def test_a_ledger_of_answers_without_turns_is_refused(self):
        run = self.folder / "turnless"
        self.session(run, 5, signal.SIGINT)
        text, head, count = "", "", 0
        for line in lines_of(run / "ledger.jsonl"):
            kind = line.pop("kind")
            if kind == "turns":
                continue
            del line["hash"]
            body = json.dumps({"kind": kind, **line, "sequence": count}, separators=(",", ":"))[:-1]
            head = hashlib.sha256((head + body).encode()).hexdigest()
            text += f'{body},"hash":"{head}"}}\n'
            count += 1
        (run / "ledger.jsonl").write_text(text)
        refused = obol("train", self.recipe_path, "--out", run, "--resume", code=3).stderr
        self.assertRegex(refused, r"\Aobol: error: [^\n]* must have the ledger that its run went on with, [^\n]+\n\Z")
        # On a machine that does not know the run.
        with unittest.mock.patch.dict(os.environ, OBOL_LEDGERS=str(self.folder / "elsewhere")):
            refused = obol("train", self.recipe_path, "--out", run, "--resume", code=3).stderr
        self.assertRegex(refused, r"\Aobol: error: the turns in the ledger must be at least those of the [^\n]+\n\Z")

    def test_warm_critics_lie_under_a_name_that_needs_a_key(self):
        text = GS_WGAN.format(data=self.data).replace("steps = 100000", "steps = 2")
        names = []
        for cache in ("warm1", "warm2"):
            self.recipe_path.write_text(text.replace("warm_start = 2", f'warm_start = 2\nwarm_cache = "{self.folder / cache}"'))
            obol("train", self.recipe_path, "--out", self.folder / f"run-{cache}")
            self.assertEqual((self.folder / cache / "warm.key").stat().st_mode & 0o777, 0o600)
            names += [path.name for path in (self.folder / cache).iterdir() if path.is_dir()]
            self.assertIn("warm-started", (self.folder / f"run-{cache}" / "disclosures.jsonl").read_text())
        self.assertEqual(len(set(names)), 2, names)


class Claims(WithImages):
    FOLLOWS = (('barrier = "record"', 'barrier = "batch"\nfollows = "dp-sinkhorn"\nnoise_multiplier = 20'),
               ("epsilon = 10\n", ""), ("histogram_noise = 5\n", ""), ("regularization = 4\n", ""),
               ("second_batch = 9\n", ""))

    def trained(self, name, *changes):
        run = self.folder / name
        obol("train", self.recipe(name, 4, *(changes or self.FOLLOWS)), "--out", run, "--threads", 1)
        return run

    def test_a_published_count_is_a_guarantee_only_for_the_same_releases(self):
        run = self.trained("published")
        self.assertTrue(certificate_of(run)["as_published"]["is_a_guarantee"])
        obol("evaluate", run, "--count", 90, "--classifiers", "logreg", "--no-quality", "--noisy", 1)
        published = certificate_of(run)["as_published"]
        self.assertFalse(published["is_a_guarantee"])
        self.assertEqual(published["left_out"], ["validation accuracy"])
        self.assertNotIn("holds as well", (run / "certificate.md").read_text())
        self.assertNotIn("holds as well", obol("account", run).stdout)
        self.assertFalse(json.loads(obol("account", run, "--json").stdout)["as_published"]["is_a_guarantee"])
        obol("verify", run)
        page = self.folder / "compare.html"
        obol("compare", run, "--out", page)
        self.assertIn("“", page.read_text())
        # Nor is it before anything is run.
        said = obol("account", "dp_sinkhorn/mnist_record_eps1_cpu", "--set", "privacy.follows=dp-sinkhorn", "--set",
                    "privacy.noise_multiplier=30", "--set", "privacy.histogram_noise=1").stdout
        self.assertIn("leaves out what else was released: class histogram", " ".join(said.split()))
        self.assertNotIn("holds as well", said)

    def test_a_forged_count_is_not_verified(self):
        run = self.trained("forged")
        for edit in (lambda c: c["as_published"].update(paper="an independent audit"),
                     lambda c: c["as_published"]["per_release"].update(noise_multiplier=2000.0),
                     lambda c: c["as_published"].update(epsilon=0.017)):
            obol("certify", run, "--delta", "1e-5")
            obol("verify", run)
            change(run, edit)
            self.assertIn("as_published", obol("verify", run, code=7).stderr)
        obol("certify", run, "--delta", "1e-5")
        self.assertTrue(certificate_of(run)["as_published"]["is_a_guarantee"])
        bundle = self.folder / "forged-bundle"
        obol("release", run, "--out", bundle, "--count", 30)
        obol("verify", bundle)
        (run / "recipe.toml").unlink()
        self.assertIn("as_published", obol("verify", run, code=7).stderr)

    def test_disclosures_stay_in_the_certificate(self):
        run = self.trained("opened")
        obol("evaluate", run, "--count", 90, "--classifiers", "logreg", "--no-quality", "--memorisation")
        words = "what was opened: evaluation: distances of synthetic images to the private ones"
        self.assertIn(words, certificate_of(run)["not_covered"])
        obol("verify", run)
        obol("certify", run, "--delta", "1e-5")
        self.assertIn(words, certificate_of(run)["not_covered"])
        (run / "certificate.json").unlink()
        obol("certify", run, "--delta", "1e-5")
        self.assertIn(words, certificate_of(run)["not_covered"])
        obol("verify", run)
        change(run, lambda c: c["not_covered"].remove(words))
        self.assertIn("not_covered", obol("verify", run, code=7).stderr)

    def test_images_that_were_trained_on_are_refused_by_content(self):
        run = self.trained("against")
        images = numpy.load(self.data)
        new, labels = bands(numpy.random.default_rng(77), 50)
        copy = self.folder / "copy.npz"
        quick = ("--count", 90, "--classifiers", "logreg", "--no-quality")
        numpy.savez(copy, images=images["x_train"], labels=images["y_train"])
        self.assertIn("partly the same", obol("evaluate", run, "--against", copy, *quick, code=3).stderr)
        new[17] = images["x_train"][203]
        numpy.savez(copy, images=new, labels=labels)
        self.assertIn("partly the same", obol("evaluate", run, "--against", copy, *quick, code=3).stderr)
        self.assertFalse((run / "evaluation.json").exists())
        new[17] = 3
        numpy.savez(copy, images=new, labels=labels)
        obol("evaluate", run, "--against", copy, *quick)
        obol("verify", run)

    def test_times_are_in_tenths(self):
        run = self.trained("times")
        seconds = json.loads((run / "outcome.json").read_text())["seconds"]
        self.assertEqual(seconds, round(seconds, 1))

    def test_certificates_say_what_is_public_and_what_is_not_covered(self):
        said = " ".join(certificate_of(self.trained("said"))["not_covered"])
        for words in ("number and names of classes", "size and channels", "how long anything took",
                      "cryptographic generator"):
            self.assertIn(words, said)


class Local(WithImages):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.records = cls.folder / "private.npz"
        obol("privatize", cls.data, "--mechanism", "gaussian", "--epsilon", 200, "--delta", 1e-4, "--radius", 20,
             "--out", cls.records)
        (cls.folder / "local.toml").write_text(LOCAL)

    def train(self, name, records, *words, **options):
        run = self.folder / name
        done = obol("train", self.folder / "local.toml", "--out", run, "--set", f"data.source={records}", *words,
                    **options)
        return run, done

    def test_records_that_are_not_private_make_no_certificate_that_holds(self):
        denoised = self.folder / "denoised.npz"
        obol("denoise", self.records, "--oracle", self.data, "--out", denoised)
        run, _ = self.train("oracle", denoised, "--set", "method.loss=wasserstein")
        certificate = certificate_of(run)
        self.assertFalse(certificate["guarantee"]["holds"])
        self.assertIn("chosen on clean ones", " ".join(certificate["not_covered"]))
        self.assertIn("but not private", obol("verify", run).stdout)
        refused = obol("release", run, "--out", self.folder / "oracle-bundle", "--count", 20, code=2).stderr
        self.assertIn("not private", refused)

    def test_the_certificate_of_the_records_is_checked(self):
        run, _ = self.train("checked", self.records)
        items = certificate_of(run)["not_covered"]
        self.assertTrue(any(item.startswith("the radius, the transform") for item in items))
        self.assertFalse(any("not checked" in item for item in items))

        alone = self.folder / "alone.npz"
        shutil.copy(self.records, alone)
        run, done = self.train("alone", alone)
        self.assertIn("alone-certificate is not there", done.stderr)
        self.assertTrue(any("not checked" in item for item in certificate_of(run)["not_covered"]))
        self.assertIsNone(certificate_of(run)["as_published"])
        obol("verify", run)

        other = self.folder / "other.npz"
        shutil.copy(self.records, other)
        other_certificate = self.folder / "other-certificate"
        obol("privatize", self.data, "--mechanism", "gaussian", "--epsilon", 2, "--delta", 1e-4, "--radius", 20,
             "--out", self.folder / "stronger.npz")
        shutil.copytree(self.folder / "stronger-certificate", other_certificate)
        _, done = self.train("never", other, code=3)
        self.assertIn("the fingerprint of the privatised records must be what their certificate says", done.stderr)
        self.assertFalse((self.folder / "never").exists())


if __name__ == "__main__":
    unittest.main()
