"""obol train, sample, evaluate: as a user would."""
import json
import os
import random
import resource
import signal
import struct
import subprocess
import time
import unittest

import numpy

from support import OBOL
from training import RECIPE, WithImages, bands, declare, obol, start, wait_for_metrics

BLOCK = 100  # releases that are reserved ahead
# In the budget, for what is paid twice: more than a thousand steps.
ROOM = ("epsilon = 10", "epsilon = 10\nnoise_multiplier = 6\nspare_steps = 1500")


def paid_steps(run):
    """Of training, by the ledger; what was reserved and not settled counts."""
    ledger = run / "ledger.jsonl"
    used = {}
    for line in ledger.read_text().splitlines(keepends=True) if ledger.exists() else []:
        if not line.endswith("\n"):
            continue  # torn by a kill: it counts too, but nothing was released on it
        entry = json.loads(line)
        if entry["kind"] == "reserve" and entry["purpose"] == "training":
            used[entry["sequence"]] = entry["event"]["count"]
        elif entry["kind"] == "settle" and entry["reservation"] in used:
            used[entry["reservation"]] = entry["used"]
    return sum(used.values())


def checkpoint_step(run):
    path = run / "checkpoint.pt"
    if not path.exists():
        return 0
    bytes_ = path.read_bytes()
    size = struct.unpack_from("<I", bytes_, 12)[0]
    return json.loads(bytes_[16:16 + size])["step"]


class Rows:
    """metrics.jsonl, which has a row for every step right after it."""

    def __init__(self, run):
        path = run / "metrics.jsonl"
        self.bytes = path.read_bytes() if path.exists() else b""
        self.steps = [json.loads(line)["step"] for line in self.bytes.split(b"\n")[:-1]]


class Training(WithImages):
    def epsilon_of(self, run):
        return json.loads((run / "certificate.json").read_text())["guarantee"]["epsilon"]

    def test_a_run_has_all_that_was_promised(self):
        run = self.folder / "whole"
        said = obol("train", self.recipe("whole"), "--out", run).stdout
        self.assertIn("finished 4 steps: epsilon", said)
        self.assertIn("verified: epsilon", obol("verify", run).stdout)
        self.assertTrue((run / "samples" / "000004.png").is_file())
        rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([row["step"] for row in rows], [1, 2, 3, 4])
        ledger = [json.loads(line) for line in (run / "ledger.jsonl").read_text().splitlines()]
        self.assertEqual([entry.get("purpose") for entry in ledger],
                         [None, None, "class histogram", "training"])  # opened, planned
        self.assertEqual(ledger[2]["event"]["count"], 1)
        self.assertEqual(ledger[3]["event"]["count"], 4)
        # The recipe in the folder is whole: it trains on its own.
        obol("train", run / "recipe.toml", "--out", self.folder / "again")

        out = self.folder / "x.npz"
        obol("sample", run, "--count", 30, "--seed", 1, "--out", out)
        drawn = numpy.load(out)
        self.assertEqual(drawn["images"].shape[:3], (30, 28, 28))
        self.assertEqual(list(numpy.bincount(drawn["labels"])), [10, 10, 10])
        obol("sample", run, "--count", 5, "--label", 2, "--out", self.folder / "png" / "*.png")
        self.assertEqual(len(list((self.folder / "png").rglob("*.png"))), 5)
        said = obol("sample", run, "--count", 5, "--label", 3, "--out", out, code=2).stderr
        self.assertIn("a label must be from 0 to 2, but is 3", said)

        answer = json.loads(obol("evaluate", run, "--classifiers", "logreg,mlp", "--count", 300,
                                 "--json").stdout)
        self.assertEqual(set(answer["classifiers"]), {"logreg", "mlp"})
        self.assertTrue(0 <= answer["classifiers"]["mlp"]["accuracy"] <= 1)

    def test_interrupted_and_resumed(self):
        run = self.folder / "resumed"
        recipe = self.recipe("resumed", steps=120)
        child = subprocess.Popen([OBOL, "train", str(recipe), "--out", str(run)],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for_metrics(run)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 130, err)
        self.assertIn("interrupted after step", out)
        self.assertIn("--resume", out)
        self.assertIn("for all that was planned", out)
        obol("verify", run)
        # When it was stopped may have been chosen by looking: certified is what was planned.
        planned = json.loads(obol("account", recipe, "--json").stdout)["epsilon"]
        self.assertLess(paid_steps(run), 120)
        self.assertAlmostEqual(self.epsilon_of(run), planned, delta=1e-9)
        # Not by accident, and not with another recipe or other data.
        obol("train", recipe, "--out", run, code=2)
        said = obol("train", recipe, "--out", run, "--resume", "--set", "method.clip_norm=5",
                    code=2).stderr
        self.assertIn("clip_norm", said)
        done = obol("train", recipe, "--out", run, "--resume")
        self.assertIn("120 steps", done.stdout)
        self.assertIn("verified", obol("verify", run).stdout)
        self.assertEqual(Rows(run).steps, list(range(1, 121)))

    def test_killed_at_random_instants_and_resumed(self):
        seed = int(os.environ.get("OBOL_SEED", random.randrange(2 ** 32)))
        print(f"killed at random instants: OBOL_SEED={seed}", flush=True)
        choose = random.Random(seed)
        steps = 150
        recipe = self.recipe("killed", steps, ROOM)
        begin = time.monotonic()
        start("train", recipe, "--out", self.folder / "whole life").communicate(timeout=120)
        whole_life = time.monotonic() - begin

        run = self.folder / "killed"
        released = kills = 0
        for _ in range(8):
            before, rows_before = checkpoint_step(run), Rows(run).bytes
            child = start("train", recipe, "--out", run, *(["--resume"] if run.exists() else []))
            try:
                _, err = child.communicate(timeout=choose.uniform(0, whole_life))
                self.assertEqual(child.returncode, 0, err)
            except subprocess.TimeoutExpired:
                child.kill()
                child.communicate()
                kills += 1
            rows = Rows(run)
            if rows.bytes != rows_before and rows.steps:
                released += max(0, rows.steps[-1] - before)
            self.assertGreaterEqual(paid_steps(run), released)
        done = obol("train", recipe, "--out", run, *(["--resume"] if run.exists() else []),
                    "--threads", 1)
        self.assertIn(f"finished {steps} steps", done.stdout)
        self.assertEqual(Rows(run).steps, list(range(1, steps + 1)))
        self.assertEqual(checkpoint_step(run), steps)
        self.assertGreaterEqual(paid_steps(run), max(released, steps))
        self.assertLessEqual(paid_steps(run), released + steps + kills * BLOCK)
        self.assertIn("verified", obol("verify", run).stdout)
        self.assertLessEqual(self.epsilon_of(run), 10)
        self.assertEqual(list(run.rglob("*.partial-*")), [], "left half written")
        print(f"{kills} kills, {released} steps seen before the last life", flush=True)
        obol("sample", run, "--count", 3, "--out", self.folder / "killed.npz")

    def test_what_a_kill_made_it_pay_twice_ends_it_earlier_and_within_the_budget(self):
        run = self.folder / "short"
        recipe = self.recipe("short", 120)
        child = start("train", recipe, "--out", run)
        wait_for_metrics(run)
        child.kill()
        child.communicate()
        lost = BLOCK - (Rows(run).steps or [0])[-1]
        self.assertGreater(lost, 0, "the run was over before it was killed")
        said = obol("train", recipe, "--out", run, "--resume", "--threads", 1).stdout
        self.assertRegex(said, r"ended after step \d+ of 120, when all that was planned was paid for: "
                               r"epsilon")
        self.assertLess(checkpoint_step(run), 120)
        self.assertIn("verified", obol("verify", run).stdout)
        self.assertLessEqual(self.epsilon_of(run), 10)
        obol("sample", run, "--count", 3, "--out", self.folder / "short.npz")

    def test_a_full_disk_takes_nothing_of_what_was_there(self):
        run = self.folder / "full"
        recipe = self.recipe("full", 60, ROOM)
        child = start("train", recipe, "--out", run)
        wait_for_metrics(run)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=120)
        self.assertEqual(child.returncode, 130)
        before = (run / "checkpoint.pt").read_bytes()
        at = checkpoint_step(run)
        self.assertEqual(paid_steps(run), at)

        def no_room():
            """As of a full disk: longer files than that fail, with an error and not a signal."""
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, len(before) // 2))

        said = obol("--quiet", "train", recipe, "--out", run, "--resume", "--threads", 1, code=3,
                    preexec_fn=no_room).stderr
        self.assertRegex(said, r"\Aobol: error: cannot write [^\n]*checkpoint\.pt: [^\n]+\n\Z")
        self.assertEqual((run / "checkpoint.pt").read_bytes(), before)
        self.assertEqual(list(run.rglob("*.partial-*")), [])
        # Paid are the steps before and those that were lost, and no more: the rest was given back.
        lost = Rows(run).steps[-1] - at
        self.assertGreater(lost, 0)
        self.assertEqual(paid_steps(run), at + lost)

        done = obol("train", recipe, "--out", run, "--resume", "--threads", 1)
        self.assertIn("finished 60 steps", done.stdout)
        self.assertIn("verified", obol("verify", run).stdout)
        self.assertEqual(paid_steps(run), 60 + lost)
        self.assertLessEqual(self.epsilon_of(run), 10)

    def test_a_recipe_of_a_paper_takes_its_steps_and_shows_both_counts(self):
        run = self.folder / "paper"
        few = ("--set", "privacy.steps=30")
        said = obol("train", "dp_sinkhorn/mnist_paper", *few, "--set", f"data.source={self.data}",
                    "--set", "generator.width=4", "--out", run, "--threads", 1).stdout
        self.assertIn("finished 30 steps: epsilon", said)
        self.assertIn("verified", obol("verify", run).stdout)
        certificate = json.loads((run / "certificate.json").read_text())
        price = json.loads(obol("account", "dp_sinkhorn/mnist_paper", *few, "--json").stdout)
        self.assertAlmostEqual(certificate["guarantee"]["epsilon"], price["epsilon"], delta=1e-3)
        self.assertAlmostEqual(certificate["as_published"]["epsilon"],
                               price["as_published"]["epsilon"], delta=1e-9)
        self.assertGreater(certificate["guarantee"]["epsilon"],
                           10 * certificate["as_published"]["epsilon"])
        self.assertFalse(certificate["as_published"]["is_a_guarantee"])

    def test_without_privacy_nothing_is_certified(self):
        run = self.folder / "open"
        text = RECIPE.format(data=self.data, steps=2).replace('"record"', '"none"')
        path = self.folder / "open.toml"
        path.write_text(text.replace("epsilon = 10\n", "").replace("delta = 1e-5\n", ""))
        obol("train", path, "--out", run)
        self.assertFalse((run / "certificate.json").exists())
        self.assertIn("training without privacy", (run / "disclosures.jsonl").read_text())

    def test_bad_recipes_say_what_must_hold_and_where(self):
        odd = self.folder / "odd.npz"
        numpy.savez(odd, images=numpy.zeros((30, 27, 27), numpy.uint8), labels=numpy.arange(30) % 3)
        cases = [  # section, its new line, the message, the line it names (the new one)
            ("privacy", 'barrier = "wall"', "privacy.barrier must be one of row, batch, record", None),
            ("privacy", "generated_batch = 10", "privacy.generated_batch must be a multiple of the 3",
             None),
            ("privacy", "# delta", "privacy.delta must be given", "[privacy]"),
            ("privacy", "# histogram_noise", "privacy.histogram_noise must be given", "[privacy]"),
            ("method", "clip_norm = 0", "method.clip_norm must be finite and positive", None),
            ("method", "clip_norm = -1", "method.clip_norm must be finite and positive", None),
            ("method", "resample = -0.1", "method.resample must be between 0 and 1", None),
            ("method", "resample = 1.1", "method.resample must be between 0 and 1", None),
            ("method", "self_weight = -0.1", "method.self_weight must be between 0 and 1", None),
            ("method", "self_weight = 1.5", "method.self_weight must be between 0 and 1", None),
            ("method", "self_wait = 1", "method.self_wait must be a key", None),
            ("method", 'features = "wavelet"', "method.features must be pixels", None),
            ("method", 'features = "dct:29"', "must be from 1 to 28, but is 29", None),
            ("method", "second_batch = 10", "method.second_batch must be a multiple of the 3", None),
            ("generator", 'architecture = "biggan"', "must be 32x32, but is 28x28", None),
            ("data", f'source = "{odd}"', "multiple of 4 up to 64, such as 28x28", "[generator]"),
            ("data", "# source", "data.source must be given", "[data]"),
        ]
        for section, line, message, named in cases:
            lines = RECIPE.format(data=self.data, steps=4).splitlines()
            key = line.removeprefix("# ").split(" ")[0]
            at = lines.index(f"[{section}]")
            lines = [text for text in lines if not text.startswith(f"{key} =")]
            lines.insert(at + 1, line)
            path = self.folder / "bad.toml"
            path.write_text("\n".join(lines) + "\n")
            said = obol("train", path, "--out", self.folder / "never", code=2).stderr
            with self.subTest(line):
                self.assertIn(message, said)
                self.assertIn(f"({path}:{lines.index(named or line) + 1})", said)
                self.assertEqual(len(said.strip().splitlines()), 1, said)
                self.assertFalse((self.folder / "never").exists())

    def test_labels_beyond_the_declared_classes_are_refused_alike(self):
        images = numpy.zeros((30, 28, 28), numpy.uint8)
        path = self.folder / "labels.npz"
        said = set()
        for place, label in ((5, -1), (0, 2 ** 16), (29, 3), (7, 2 ** 40)):
            labels = numpy.arange(30) % 3
            labels[place] = label
            numpy.savez(path, images=images, labels=labels)
            said.add(obol("train", self.recipe("labels", 4, (str(self.data), str(path))), "--out",
                          self.folder / "never", code=3).stderr)
            self.assertFalse((self.folder / "never").exists())
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said.pop(), r"\Aobol: error: every record of [^\n]*labels\.npz must be as declared "
                                     r"\(3 classes\)[^\n]*\n\Z")

    def test_what_data_are_is_declared_and_not_read_off_them(self):
        path = self.folder / "undeclared.npz"
        images, labels = bands(self.random, 60)
        numpy.savez(path, images=images / 255, labels=labels)
        recipe = self.recipe("undeclared", 2, (str(self.data), str(path)), ("classes = 3\n", ""))

        def refused():
            return obol("train", recipe, "--out", self.folder / "never", code=2).stderr
        self.assertIn("data.classes must be declared in the recipe or in "
                      f"{path}.declaration.toml ('obol data declare {path}' writes one), but is missing",
                      refused())
        declare(path, "classes = 3")
        self.assertIn("data.range must be declared", refused())
        self.assertFalse((self.folder / "never").exists())
        said = obol("data", "declare", path, "--force")
        self.assertIn("range", said.stderr)
        self.assertEqual(said.stdout.strip(), f"{path}.declaration.toml")
        obol("train", recipe, "--out", self.folder / "declared")

    def test_other_layouts_are_trained_on_as_declared(self):
        images, labels = bands(self.random, 60)
        table = self.folder / "table.csv"
        lines = [",".join(map(str, [label, *image.ravel()])) for label, image in zip(labels, images)]
        table.write_text("\n".join([*lines, ",".join(["9", "nan"] + 783 * ["1e9"])]) + "\n")
        photos = self.folder / "photos"
        obol("data", "convert", self.data, f"{photos}/*.png")  # declared as its source is
        (photos / "emu").mkdir()
        (photos / "emu" / "a.png").write_text("not a picture")
        for name, source, keys in (("table", table, 'range = "0,255"\nsize = "28x28"\n'),
                                   ("photos", photos, "")):
            recipe = self.recipe(name, 2, (str(self.data), str(source)), ("classes = 3\n", "classes = 3\n" + keys))
            run = self.folder / f"{name}-run"
            said = obol("train", recipe, "--out", run, code=3).stderr
            self.assertRegex(said, r"\Aobol: error: every record of [^\n]+ must be as declared \(3 classes, 28x28")
            self.assertNotIn("emu", said)
            obol("train", recipe, "--out", run, "--set", "data.outside=map")
            samples = self.folder / f"{name}-samples.npz"
            obol("sample", run, "--count", 30, "--out", samples)
            self.assertEqual(set(numpy.load(samples)["labels"]), {0, 1, 2})

    def generator_of(self, name, images, labels, *more):
        """Of a run on other images, of which nothing is released but the noise and the data's share."""
        path = self.folder / f"{name}.npz"
        numpy.savez(path, images=images, labels=labels)
        recipe = self.recipe(name, 3, (str(self.data), str(path)),
                             ("classes = 3\n", 'classes = 3\nrange = "0,1"\noutside = "map"\n'))
        obol("train", recipe, "--out", self.folder / name)
        samples = self.folder / f"{name}-samples.npz"
        obol("sample", self.folder / name, "--count", 60, "--seed", 1, "--out", samples)
        return numpy.load(samples)

    def test_one_record_decides_neither_brightness_nor_classes(self):
        # Bands of ones, and one record more that is brighter than white and of a new class.
        images, labels = bands(self.random, 300)
        images = (images > 100).astype(numpy.float64)
        with_one = numpy.concatenate([images, 2 * images[:1]]), numpy.append(labels, 9)
        plain = self.generator_of("without-it", images, labels)
        other = self.generator_of("with-it", *with_one)
        self.assertEqual(set(plain["labels"]), set(other["labels"]))
        difference = abs(plain["images"].mean() - other["images"].mean())
        self.assertLess(difference, 80)  # of 255; the other records in 255ths would be black


if __name__ == "__main__":
    unittest.main()
