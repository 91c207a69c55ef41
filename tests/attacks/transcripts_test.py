"""What left a training, compared between data sets that differ in one record, under the same noise.

Attacked: everything outside private/ that might depend on the data without noise: which files there are and what
they are called, the recipe in force, ledger, certificate, shapes of the generator, names of metrics, what is printed,
the exit code. One record is changed to each kind of extreme (brightest, above the range, huge, not a number, negative,
another label, another size, in colour, a duplicate, empty), for every layout that is read, and for every recipe that
is shipped, cut down to one step and a tiny network.

What must hold, with the noise from a fixed seed: all that is the same for both data sets, but for the clock and keyed
hashes. And where the record is not drawn, or its shard not asked, the generator is the same bit for bit; that it is not
drawn is known because an ordinary change of the same record changes nothing either. No assertion is statistical.

OBOL_LONG=1 tries every kind with every recipe and every layout with every system.
"""
import json
import os
import shutil
import struct
import unittest

import numpy

from attack import (CLASSES, LAYOUTS, SIDE, Attack, at_once, generator_of, lines_of, png, public_files, tensors_of,
                    without_noise, write_data, write_declaration)
from support import SOURCE, write_idx

LONG = "OBOL_LONG" in os.environ
SEEDS = 12  # of which one has the record left out, but for a probability below 1e-3; then the test is an error


def transcript(run, done, names):
    """All that left a training and has no noise in it. `names` are words that may differ."""
    def plain(text):
        for word, stands_for in names.items():
            text = text.replace(str(word), stands_for)
        return without_noise(text)

    seen = {"exit code": done.returncode, "printed": plain(done.stdout), "said": said(plain(done.stderr))}
    if not run.exists():
        return seen
    for path in public_files(run):
        name = str(path.relative_to(run))
        if name.startswith("tensorboard"):
            seen["tensorboard"] = "there"
        elif name.startswith("generator."):
            seen[name] = tensors_of(path)
        elif name == "metrics.jsonl":
            seen[name] = [(list(line), line["step"], line.get("epsilon")) for line in lines_of(path)]
        elif name == "outcome.json":
            seen[name] = {key: value for key, value in json.loads(path.read_text()).items() if key != "seconds"}
        elif path.suffix in (".json", ".jsonl", ".md", ".toml"):
            seen[name] = plain(path.read_text())
        else:
            seen[name] = "there"  # samples and checkpoints: made from the generator
    return seen


def said(text):
    """Lines of a log without progress, whose number depends on the clock."""
    return [line for line in text.splitlines() if "steps/s" not in line and "SPEED" not in line and "%" not in line]


class Runs(Attack):
    def train(self, recipe, name, seed, names, *words, machine=None):
        run = self.folder / "runs" / name
        run.parent.mkdir(exist_ok=True)
        shutil.rmtree(run, ignore_errors=True)
        # What the same data have cost before is said, so that every run has a machine of its own.
        ledgers = self.folder / "ledgers" / name
        shutil.rmtree(ledgers, ignore_errors=True)
        machine = {**(machine or self.machine), "OBOL_LEDGERS": str(ledgers)}
        done = self.obol("train", recipe, "--out", run, "--threads", 1, "--set", f"method.seed={seed}", *words,
                         machine=machine)
        seen = transcript(run, done, {name: "NAME", **names})
        generator = generator_of(run).read_bytes() if done.returncode == 0 else None
        shutil.rmtree(run, ignore_errors=True)
        return seen, generator

    def check_same(self, plain, changed, what, may_differ=False):
        """`changed` left what `plain` left; the same generator too, unless it may differ."""
        for name in ("exit code", "said"):
            self.assertEqual(plain[0][name], changed[0][name], f"{what}: {name}, {changed[0]['said']}")
        self.assertEqual(sorted(plain[0]), sorted(changed[0]), what)
        for name, value in plain[0].items():
            self.assertEqual(value, changed[0][name], f"{what}: {name}")
        self.assertTrue(may_differ or plain[1] == changed[1],
                        f"{what}: a record that was not drawn changed the generator")

    def find_seed(self, train, what):
        """A seed for which an ordinary change of the record changes nothing, and the run of the data as they are."""
        for seed in range(1, SEEDS + 1):
            plain, benign = at_once([lambda: train("plain", seed), lambda: train("ordinary", seed)])
            self.check_same(plain, benign, f"{what}: an ordinary change", may_differ=True)
            self.assertEqual(plain[0]["exit code"], 0, (what, plain[0]["said"]))
            if plain[1] == benign[1]:
                return seed, plain
        self.fail(f"{what}: the record was drawn with every seed")


# ---------------------------------------------------------------------------------------------------
# Every layout

HEAD = """
[data]
source = "{data}"

[generator]
width = 2
latent = 2

[run]
sample_every = 1
checkpoint_every = 10
metrics_every = 1
"""
SYSTEMS = {
    "batch": """
[privacy]
barrier = "batch"
sampling_rate = 0.3
noise_multiplier = 2
steps = 1
delta = 1e-5
generated_batch = 4

[method]
clip_norm = 1
regularization = 4
""",
    "record": """
[privacy]
barrier = "record"
sampling_rate = 0.3
noise_multiplier = 2
steps = 1
delta = 1e-5
histogram_noise = 5
generated_batch = 4

[method]
clip_norm = 1
regularization = 4
second_batch = 4
""",
    "gs-wgan": """
[privacy]
barrier = "batch"
shards = 3
noise_multiplier = 2
steps = 1
delta = 1e-5
generated_batch = 4

[method]
name = "gs-wgan"
critic_width = 2
critic_steps = 1
warm_start = 1
"""}
SYSTEMS["row"] = SYSTEMS["batch"].replace('"batch"', '"row"')


def picture(value):
    return lambda image: numpy.full((SIDE, SIDE), float(value))


# The last record of the last class, so that no other record has another place for it.
KINDS = {
    "ordinary": lambda image: 1 - image,
    "brightest": picture(1),
    "empty": picture(0),
    "above": picture(2),
    "huge": picture(1e30),
    "negative": picture(-3),
    "not a number": picture(numpy.nan),
    "infinite": picture(numpy.inf),
    "size": lambda image: numpy.ones((SIDE + 3, SIDE - 2)),
    "colour": lambda image: numpy.ones((SIDE, SIDE, 3)) * [1, 0, 0.5],
}
OF_BYTES = ("brightest", "empty", "duplicate", "label")
OF_NUMBERS = (*OF_BYTES, "above", "huge", "negative", "not a number", "infinite")
KINDS_OF = {"npz": OF_NUMBERS, "csv": OF_NUMBERS, "bytes": OF_BYTES, "idx": OF_BYTES,
            "medmnist": OF_BYTES, "png": (*OF_BYTES, "size", "colour")}


class Layouts(Runs):
    RECORDS = 30

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.images = (cls.random.random((cls.RECORDS, SIDE, SIDE)) < 0.5).astype(float)
        cls.labels = numpy.sort(numpy.arange(cls.RECORDS) % CLASSES)

    def data(self, layout, kind, outside="map"):
        images, labels = list(self.images), self.labels.copy()
        if kind == "label":
            labels[-1] = 7
        elif kind == "another label":
            labels[0] = 9
        elif kind == "another size":
            images[2] = numpy.zeros((SIDE - 1, SIDE + 5))
        elif kind == "duplicate":
            images[-1] = images[-2]
        elif kind != "plain":
            images[-1] = KINDS[kind](images[-1])
        folder = self.folder / outside / kind.replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"records-{layout}{LAYOUTS[layout][1]}"
        if not path.exists():
            write_data(folder, "records", layout, images if layout == "png" else numpy.array(images), labels)
            write_declaration(path, layout, outside=outside)
        return path

    def test_a_refusal_does_not_say_which_record_it_was(self):
        for layout, kinds in (("npz", ("label", "another label")), ("csv", ("label", "another label")),
                              ("idx", ("label", "another label")), ("png", ("label", "another label")),
                              ("medmnist", ("label", "another label")), ("png", ("size", "another size", "colour"))):
            with self.subTest(layout=layout, kinds=kinds):
                seen = []
                for kind in kinds:
                    data = self.data(layout, kind, "refuse")
                    recipe = self.recipe("refused", HEAD.format(data=data) + SYSTEMS["batch"])
                    seen.append(self.train(recipe, "refused", 1, {data: "DATA"})[0])
                self.assertEqual(seen[0]["exit code"], 3)
                self.assertEqual(set(seen[0]), {"exit code", "printed", "said"}, "nothing else was left")
                for other in seen[1:]:
                    self.assertEqual(other, seen[0])

    def check(self, layout, system):
        def train(kind, seed):
            data = self.data(layout, kind)
            name = f"{layout}-{system}-{kind}".replace(" ", "-")
            recipe = self.recipe(name, HEAD.format(data=data) + SYSTEMS[system])
            return self.train(recipe, name, seed, {data: "DATA"})

        what = f"{layout}, {system}"
        seed, plain = self.find_seed(train, what)
        kinds = KINDS_OF[layout]
        for kind, changed in zip(kinds, at_once([lambda k=k: train(k, seed) for k in kinds])):
            with self.subTest(layout=layout, system=system, kind=kind):
                # Labels are in the histogram, which has noise: one more or less changes it by one.
                histogram = system == "record" and kind == "label"
                self.check_same(plain, changed, f"{what}, {kind}", may_differ=histogram)

    def test_every_layout(self):
        pairs = [("npz", "batch"), ("csv", "record"), ("bytes", "gs-wgan"), ("png", "batch"), ("idx", "record"),
                 ("npz", "gs-wgan"), ("medmnist", "batch")]
        if LONG:
            pairs = [(layout, system) for layout in LAYOUTS for system in SYSTEMS]
        for layout, system in pairs:
            with self.subTest(layout=layout, system=system):
                self.check(layout, system)


# ---------------------------------------------------------------------------------------------------
# Every recipe, on data of its own source

CUT = {"dp_sinkhorn": ["privacy.sampling_rate=0.3", "privacy.steps=1", "privacy.generated_batch=10",
                       "method.second_batch=10"],
       "gs_wgan": ["privacy.steps=1", "privacy.generated_batch=4", "method.critic_width=2", "method.critic_steps=1",
                   "method.warm_start=1"],
       "ldp_wgan": ["method.epochs=0.1", "method.batch=10", "method.iterations=5"],
       "dp_merf": ["method.steps=1", "method.batch=20", "method.frequencies=20"],
       "summit": ["method.steps=1", "method.batch=20", "method.frequencies=24", "method.teacher_steps=2",
                  "privacy.sampling_rate=0.3", "privacy.steps=1", "privacy.generated_batch=10",
                  "method.second_batch=10"]}
SMALL = ["generator.width=4", "generator.latent=2", "run.sample_every=1", "run.checkpoint_every=10",
         "run.metrics_every=1"]


def all_recipes():
    return sorted(str(path.relative_to(SOURCE / "recipes").with_suffix(""))
                  for path in (SOURCE / "recipes").glob("*/*.toml") if path.parent.name != "data")


class Recipes(Runs):
    """Sources that are known by name lie in a folder of this test, one for each kind of change."""
    RECORDS = 40
    KINDS = ("brightest", "empty", "duplicate", "label") if LONG else ("brightest", "label")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.images = cls.random.integers(0, 256, (cls.RECORDS, 28, 28), dtype=numpy.uint8)
        cls.labels = numpy.sort(numpy.arange(cls.RECORDS) % 10)
        cls.colours = cls.random.integers(0, 256, (cls.RECORDS, 32, 32, 3), dtype=numpy.uint8)
        cls.faces = cls.random.integers(0, 256, (12, 218, 178, 3), dtype=numpy.uint8)
        cls.male = numpy.sort(numpy.arange(12) % 2)
        for kind in ("plain", "ordinary", *cls.KINDS, "another label"):
            cls.lay(cls.folder / f"known-{kind}", kind)

    @staticmethod
    def change(kind, images, labels):
        images, labels = images.copy(), labels.copy()
        if kind == "ordinary":
            images[-1] = 255 - images[-1]
        elif kind == "brightest":
            images[-1] = 255
        elif kind == "empty":
            images[-1] = 0
        elif kind == "duplicate":
            images[-1] = images[-2]
        elif kind == "label":
            labels[-1] = 12
        elif kind == "another label":
            labels[3] = 200
        return images, labels

    @classmethod
    def lay(cls, home, kind):
        images, labels = cls.change(kind, cls.images, cls.labels)
        for name in ("mnist", "fashion-mnist"):
            made = write_idx(home / name, [image.tobytes() for image in images], labels.astype(numpy.uint8))
            for split in ("train", "t10k"):
                shutil.copy(made / "images-idx3-ubyte", made / f"{split}-images-idx3-ubyte")
                shutil.copy(made / "labels-idx1-ubyte", made / f"{split}-labels-idx1-ubyte")
            for part in ("images-idx3-ubyte", "labels-idx1-ubyte"):
                (made / part).unlink()
        images, labels = cls.change(kind, cls.colours, cls.labels)
        (home / "cifar10").mkdir()
        for split in ("train", "t10k"):
            (home / f"cifar10/{split}-images-idx4-ubyte").write_bytes(
                struct.pack(">5I", 0x804, *images.shape) + images.tobytes())
            (home / f"cifar10/{split}-labels-idx1-ubyte").write_bytes(
                struct.pack(">2I", 0x801, len(labels)) + labels.astype(numpy.uint8).tobytes())
        faces, male = cls.change(kind if "label" not in kind else "plain", cls.faces, cls.male)
        folder = home / "celeba" / "img_align_celeba"
        folder.mkdir(parents=True)
        names = [f"{number + 1:06}.jpg" for number in range(len(faces))]
        for name, face in zip(names, faces):
            (folder / name).write_bytes(png(face))
        (folder.parent / "list_eval_partition.txt").write_text("".join(f"{name} 0\n" for name in names))
        (folder.parent / "list_attr_celeba.txt").write_text(
            f"{len(names)}\nMale\n" + "".join(f"{name} {2 * one - 1}\n" for name, one in zip(names, male)))

    def machine_with(self, kind):
        return {**self.machine, "OBOL_DATA": str(self.folder / f"known-{kind}"),
                "OBOL_RECIPES": str(SOURCE / "recipes")}

    def words(self, recipe):
        kind = recipe.split("/")[0]
        resolved = self.succeeds("recipes", "show", recipe, "--resolved", machine=self.machine_with("plain")).stdout
        words = [*CUT[kind], *SMALL]
        if kind == "summit" and "\nsampling_rate = " not in resolved:  # no transport
            words = [word for word in words if not word.startswith("privacy.")]
        if kind == "gs_wgan" and "\nshards = 1\n" not in resolved:
            words.append("privacy.shards=3")
        if kind == "gs_wgan" and 'barrier = "none"' in resolved:
            return None
        return [part for word in words for part in ("--set", word)]

    def check(self, recipe):
        words = self.words(recipe)
        if words is None:
            return  # without privacy, and without shards of which one is not asked
        if recipe.startswith("ldp_wgan"):
            return self.check_local(recipe, words)

        def train(kind, seed):
            name = f"{recipe.replace('/', '-')}-{kind}".replace(" ", "-")
            machine = self.machine_with(kind)
            return self.train(recipe, name, seed, {machine["OBOL_DATA"]: "DATA"}, *words, machine=machine)

        if recipe.startswith(("dp_merf", "summit")):  # every record has a part in what is released
            seed, plain, may_differ = 1, train("plain", 1), self.KINDS
        else:
            seed, plain = self.find_seed(train, recipe)
            may_differ = ["label"] if "class histogram" in plain[0].get("ledger.jsonl", "") else []
        for kind in self.KINDS:
            changed = train(kind, seed)
            with self.subTest(recipe=recipe, kind=kind):
                if kind == "label" and changed[0]["exit code"]:
                    # Refused: nothing was released, and the words do not say which record or label it was.
                    self.assertEqual(changed[0], train("another label", seed)[0])
                    self.assertEqual(set(changed[0]), {"exit code", "printed", "said"})
                    continue
                self.check_same(plain, changed, f"{recipe}, {kind}", may_differ=kind in may_differ)

    def check_local(self, recipe, words):
        """Records are privatised first, each on its own; then only one of them can differ, whatever is trained."""
        def train(kind):
            machine = self.machine_with(kind)
            records = self.folder / f"local-{kind.replace(' ', '-')}.npz"
            if not records.exists():
                self.succeeds("privatize", "mnist", "--mechanism", "gaussian", "--epsilon", 200, "--delta", 1e-4,
                              "--radius", 10, "--seed", 1, "--out", records, machine=machine)
            name = f"{recipe.replace('/', '-')}-{kind}".replace(" ", "-")
            seen = self.train(recipe, name, 1, {records: "DATA", machine["OBOL_DATA"]: "DATA"}, *words, "--set",
                              f"data.source={records}", machine=machine)
            with numpy.load(records) as arrays:
                return seen, arrays["records"]

        plain, records = train("plain")
        for kind in self.KINDS:
            with self.subTest(recipe=recipe, kind=kind):
                changed, others = train(kind)
                self.assertTrue(numpy.array_equal(records[:-1], others[:-1]), "a record changed another")
                self.check_same(plain, changed, f"{recipe}, {kind}", may_differ=True)

    def test_every_recipe(self):
        for recipe in all_recipes():
            with self.subTest(recipe=recipe):
                self.check(recipe)


if __name__ == "__main__":
    unittest.main()
