"""Answers of shards that nobody pays for.

Attacked: a GS-WGAN run that is interrupted, killed, evaluated with `--noisy`, robbed of files in private/ or given
older copies of them, and resumed. Each of these must not make a shard answer more often than its ledger says.

What must hold, after every command: the ledger has at least as many training answers of every shard as there were
turns of that shard, and the certified epsilon is at least that of so many Gaussian releases. Turns are counted here
by the steps in metrics.jsonl; the ledger is parsed and the epsilon computed by this test. A command that refuses to go
on passes, since then nothing is released. No assertion is statistical.

Three sequences are fixed. The others are drawn: OBOL_SEQUENCES of them (5), from the seed OBOL_SEED (1).
"""
import json
import os
import random
import shutil
import signal
import unittest

from attack import Attack, certificate_of, events_of, gaussian_epsilon, lines_of, wait_for, write_splits

SHARDS = 4
NOISE = 5
CHECKPOINT = "checkpoint.pt"
SEQUENCES = int(os.environ.get("OBOL_SEQUENCES", "5"))
SEED = int(os.environ.get("OBOL_SEED", "1"))

RECIPE = """
[data]
source = "{data}"

[privacy]
barrier = "batch"
shards = 4
noise_multiplier = 5
steps = {steps}
generated_batch = 4
delta = 1e-5

[generator]
width = 2
latent = 2

[method]
name = "gs-wgan"
critic_width = 2
critic_steps = 1
warm_start = 1

[run]
sample_every = 0
checkpoint_every = 10
metrics_every = 1
"""


class Training:
    """A run, what was done to it, and how many turns it has taken."""

    def __init__(self, test, name, steps):
        self.test = test
        self.run = test.folder / name
        self.recipe = test.recipe(name, RECIPE.format(data=test.data, steps=steps))
        self.turns = 0      # of all shards, over all sessions
        self.at = 0         # the last step that was seen
        self.is_over = False
        self.copies = []

    def steps(self):
        metrics = self.run / "metrics.jsonl"
        return [line["step"] for line in lines_of(metrics)] if metrics.exists() else []

    def session(self, end=None, after=0):
        """Trains to the end, or until a signal ends it some steps later. Returns whether it did train."""
        resumes = ["--resume"] if self.run.exists() else []
        before = self.at
        process = self.test.start("train", self.recipe, "--out", self.run, "--threads", 1, "--no-progress", *resumes)
        if end is not None:
            wait_for(lambda: process.poll() is not None or (self.steps() or [0])[-1] >= before + after)
            if process.poll() is None:
                process.send_signal(end)
        said, errors = process.communicate(timeout=300)
        # A signal may come before the program has a handler for it.
        if process.returncode not in (0, 130, -signal.SIGKILL, -signal.SIGINT):
            self.test.assertRegex(errors, r"obol: error: [^\n]+\n\Z", "refused in a sentence")
            return False
        # After a kill, steps since the last checkpoint are repeated: then these are fewer than were taken.
        last = (self.steps() or [before])[-1]
        self.turns += max(0, last - before)
        self.at = last
        self.is_over = process.returncode == 0
        return True

    def evaluate(self):
        self.test.obol("evaluate", self.run, "--noisy", 100000, "--count", 20, "--classifiers", "logreg",
                       "--no-quality")

    def lose(self, name):
        path = self.run / "private" / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def copy(self):
        place = self.run.with_name(f"{self.run.name}-copy{len(self.copies)}")
        shutil.copytree(self.run, place)
        self.copies.append((place, self.at))

    def put_back(self, which, *names):
        """Older files of these names, but not an older ledger: who has that cannot be stopped."""
        place, at = self.copies[which]
        for name in names:
            old, new = place / name, self.run / name
            if old.is_dir():
                shutil.rmtree(new, ignore_errors=True)
                shutil.copytree(old, new)
            elif old.exists():
                shutil.copy2(old, new)
        if any("checkpoint" in name for name in names):
            self.at = min(self.at, at)  # steps may be taken again
            self.forget_steps()

    def forget_steps(self):
        """Steps that are taken again must not be counted where a kill comes before the first of them."""
        metrics = self.run / "metrics.jsonl"
        if metrics.exists():
            kept = [line for line in lines_of(metrics) if line["step"] <= self.at]
            metrics.write_text("".join(json.dumps(line) + "\n" for line in kept))

    def check(self, what):
        uses = -(-self.turns // SHARDS)  # of the shard that comes first
        paid = sum(count for purpose, _, count in events_of(self.run) if purpose == "training")
        self.test.assertGreaterEqual(paid, uses, f"{what}: {self.turns} turns of {SHARDS} shards")
        if (self.run / "certificate.json").exists() and self.test.obol("verify", self.run).returncode == 0:
            guarantee = certificate_of(self.run)["guarantee"]
            self.test.assertGreaterEqual(guarantee["epsilon"] * (1 + 1e-6),
                                         gaussian_epsilon(NOISE, uses, guarantee["delta"]), what)


class Payments(Attack):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = write_splits(cls.folder / "data.npz", cls.random)

    def test_noisy_evaluations_pay_for_no_training(self):
        training = Training(self, "evaluated", 200)
        training.session(signal.SIGINT, 20)
        self.assertFalse(training.is_over, "interrupted in time")
        training.check("interrupted")
        for _ in range(5):
            training.evaluate()
        self.assertEqual(sum(purpose != "training" for purpose, _, _ in events_of(training.run)), 5)
        training.session()
        self.assertTrue(training.is_over)
        training.check("evaluated five times and resumed")

    def test_turns_that_were_lost_are_not_given_again(self):
        training = Training(self, "lost", 200)
        training.session(signal.SIGINT, 60)
        self.assertFalse(training.is_over, "interrupted in time")
        training.lose("turns.json")
        training.lose("critics")
        training.session()
        training.check("without its turns")

    def test_an_older_copy_of_private_gives_no_turns_again(self):
        training = Training(self, "older", 300)
        training.session(signal.SIGINT, 20)
        training.copy()
        training.session(signal.SIGINT, 100)
        self.assertFalse(training.is_over, "interrupted in time")
        training.put_back(0, "private")
        training.session()
        training.check("with an older private/")

    def test_whatever_the_order_of_commands_recorded_is_never_below_used(self):
        for number in range(SEQUENCES):
            draw = random.Random(SEED * 1_000_003 + number)
            training = Training(self, f"drawn-{number}", 150)
            done = []
            training.session(draw.choice([signal.SIGINT, signal.SIGKILL]), draw.randint(0, 40))
            for _ in range(draw.randint(3, 8)):
                if not (training.run / "ledger.jsonl").exists():
                    shutil.rmtree(training.run, ignore_errors=True)  # killed before there was a run
                step = draw.choice(["interrupt", "interrupt", "kill", "resume", "evaluate", "evaluate", "lose turns",
                                    "lose critics", "copy", "put back", "put back more", "certify"])
                done.append(step)
                if step in ("interrupt", "kill"):
                    training.session(signal.SIGINT if step == "interrupt" else signal.SIGKILL, draw.randint(0, 40))
                elif step == "resume":
                    training.session()
                elif not training.run.exists():
                    continue
                elif step == "evaluate":
                    training.evaluate()
                elif step == "lose turns":
                    training.lose("turns.json")
                elif step == "lose critics":
                    training.lose("critics")
                elif step == "copy":
                    training.copy()
                elif step == "put back" and training.copies:
                    training.put_back(draw.randrange(len(training.copies)), "private")
                elif step == "put back more" and training.copies:
                    training.put_back(draw.randrange(len(training.copies)), "private", CHECKPOINT)
                elif step == "certify":
                    self.obol("certify", training.run, "--delta", 1e-5)
                if (training.run / "ledger.jsonl").exists():
                    training.check(f"sequence {number} of seed {SEED}: {', '.join(done)}")
            shutil.rmtree(training.run, ignore_errors=True)
            for copy, _ in training.copies:
                shutil.rmtree(copy, ignore_errors=True)


if __name__ == "__main__":
    unittest.main()
