"""Releases and run folders from somebody who wants to run code, made here and opened as a user would.

Every attack ends in one sentence and leaves the victim's file as it was. The doctored files are
written without PyTorch: TorchScript is a ZIP archive of text and pickled data.
"""
import hashlib
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

OBOL = os.environ["OBOL"]
SOURCE = pathlib.Path(os.environ["SOURCE"])
RECIPE = """title = "Attacked"
[data]
source = "{data}"
[privacy]
barrier = "record"
sampling_rate = 0.2
steps = 3
epsilon = 10
delta = 1e-5
histogram_noise = 5
generated_batch = 4
[generator]
width = 1
latent = 1
embedding = 1
[method]
clip_norm = 7
regularization = 4
second_batch = 4
"""
VICTIM = b"the victim's own file, which nobody may touch\n"
# What runs while PyTorch reads the file: it writes 16 times X over another file.
PAYLOAD = """
  def __getstate__(self: __torch__.obol.Generator_label_embedding) -> Dict[str, Tensor]:
    _0 = {{"weight": self.weight}}
    return _0
  def __setstate__(self: __torch__.obol.Generator_label_embedding,
    state: Dict[str, Tensor]) -> None:
    file = torch.from_file("{victim}", True, 16, dtype=0)
    print(torch.fill_(file, 88))
    self.weight = state["weight"]
    return None
"""


def obol(*arguments):
    return subprocess.run([OBOL, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def rewritten(archive, change):
    """The records of a ZIP archive after `change`, from (name, content) to the same or None."""
    out = pathlib.Path(f"{archive}.new")
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            for record in change(name, old.read(name)):
                new.writestr(*record)
    whole = out.read_bytes()
    out.unlink()
    return whole


def with_code(archive, victim, folder):
    """The archive with code that runs when it is read, in a folder of that name."""
    def change(name, content):
        if name.endswith("/code/__torch__/obol.py"):
            at = content.index(b"class Generator_label_embedding(Module):")
            end = content.find(b"\nclass ", at)
            end = len(content) if end < 0 else end
            code = content[:end].rstrip() + PAYLOAD.format(victim=victim).encode() + content[end:]
            yield name.replace("/code/", f"/{folder}/"), code
        elif not name.endswith(".debug_pkl"):
            yield name, content
    return rewritten(archive, change)


def with_offset(archive, offset):
    """The archive with the first tensor somewhere else in memory than where its numbers are."""
    def change(name, content):
        if name.endswith("/data.pkl"):
            place = content.index(b"tQq\tK\x00")  # the end of its storage, then the offset
            content = content[:place + 4] + b"J" + struct.pack("<i", offset) + content[place + 6:]
        yield name, content
    return rewritten(archive, change)


def sum_again(release):
    """Sums that are right, as whoever doctored the files would leave them."""
    (release / "SHA256SUMS").unlink()
    text = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
                   for path in sorted(release.iterdir()))
    (release / "SHA256SUMS").write_text(text)


@unittest.skipIf(os.environ.get("OBOL_HAS_TORCH") == "0", "built without LibTorch")
class ForeignFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.folder = pathlib.Path(place.name)
        numbers = random.Random(1)
        data = cls.folder / "data"
        data.mkdir()
        (data / "train-images-idx3-ubyte").write_bytes(
            struct.pack(">IIII", 0x803, 60, 4, 4) + bytes(numbers.randrange(256) for _ in range(60 * 16)))
        (data / "train-labels-idx1-ubyte").write_bytes(
            struct.pack(">II", 0x801, 60) + bytes(i % 2 for i in range(60)))
        (data / "declaration.toml").write_text("classes = 2\n")
        cls.data = data
        cls.recipe = cls.folder / "recipe.toml"
        cls.recipe.write_text(RECIPE.format(data=data))
        cls.run_folder = cls.folder / "run"
        cls.succeeds("train", cls.recipe, "--out", cls.run_folder, "--threads", 1)
        cls.release = cls.folder / "release"
        cls.succeeds("release", cls.run_folder, "--out", cls.release, "--count", 4, "--seed", 1)
        cls.script = cls.release / "generator.pt"

    @classmethod
    def succeeds(cls, *arguments):
        done = obol(*arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def setUp(self):
        self.victim = self.folder / "victim"
        self.victim.write_bytes(VICTIM)

    def copy(self, folder, name):
        copy = self.folder / name
        shutil.copytree(folder, copy)
        self.addCleanup(shutil.rmtree, copy)
        return copy

    def refused(self, *arguments, code=3):
        """One sentence and nothing else, the victim as it was, no file made."""
        before = sorted(path for path in self.folder.rglob("*"))
        done = obol(*arguments)
        self.assertEqual(self.victim.read_bytes(), VICTIM, "the file ran its code")
        self.assertEqual(done.returncode, code, (done.stdout, done.stderr))
        self.assertRegex(done.stderr, r"\A(obol: [^\n]*\n)?obol: error: [^\n]+\n\Z")
        self.assertNotIn("internal", done.stderr)
        self.assertEqual(sorted(path for path in self.folder.rglob("*")), before)
        return done.stderr

    def doctored(self, name, content, as_names):
        release = self.copy(self.release, name)
        for as_name in as_names:
            (release / as_name).write_bytes(content)
        sum_again(release)
        return release

    def commands(self, release):
        out = self.folder / "out.npz"
        yield "sample", release, "--count", 4, "--out", out
        yield "evaluate", release, "--against", self.data, "--classifiers", "logreg", "--count", 4
        yield "export", release, "--out", self.folder / "out.pt"

    def test_code_in_a_release_is_not_run(self):
        for folder in ("CODE", "code"):
            program = with_code(self.script, self.victim, folder)
            # Only as a program, as releases were before there were files of numbers.
            old = self.doctored(f"old-{folder}", program, ["generator.pt"])
            (old / "generator.safetensors").unlink(missing_ok=True)
            sum_again(old)
            for command in self.commands(old):
                self.assertIn("scripts/convert-generator", self.refused(*command))
            # In the place of the numbers.
            new = self.doctored(f"new-{folder}", program, ["generator.pt", "generator.safetensors"])
            for command in self.commands(new):
                self.assertIn("TorchScript", self.refused(*command))
            self.refused("verify", new, code=7)
            # Beside good numbers, where nothing of ours looks at it.
            beside = self.doctored(f"beside-{folder}", program, ["generator.pt"])
            self.assertIn("not checked: generator.pt", self.succeeds("verify", beside))
            self.succeeds("sample", beside, "--count", 4, "--out", self.folder / "beside.npz")
            self.assertEqual(self.victim.read_bytes(), VICTIM)

    def test_a_tensor_that_points_elsewhere_is_not_followed(self):
        for offset in (64, 4096, 1 << 20, 0x7fffffff, -0x40000000):
            release = self.doctored(f"offset{offset}", with_offset(self.script, offset), ["generator.pt"])
            (release / "generator.safetensors").unlink(missing_ok=True)
            sum_again(release)
            self.refused("sample", release, "--count", 4, "--out", self.folder / "out.npz")

    def test_code_in_a_checkpoint_is_not_run(self):
        for version in (1, 2):
            run = self.copy(self.run_folder, f"checkpoint-{version}")
            path = run / "checkpoint.pt"
            whole = path.read_bytes()
            size = struct.unpack_from("<I", whole, 12)[0]
            header, sections = whole[16:16 + size], whole[16 + size:-32]
            program = with_code(self.script, self.victim, "code")
            # The section of the generator is replaced, sizes and hash are right.
            described = json.loads(header)
            parts, at = [], 0
            for section in described["sections"]:
                content = sections[at:at + section["bytes"]]
                at += section["bytes"]
                parts.append(program if section["name"] == "generator" else content)
                section["bytes"] = len(parts[-1])
            header = json.dumps(described, separators=(",", ":")).encode()
            changed = whole[:8] + struct.pack("<II", version, len(header)) + header + b"".join(parts)
            path.write_bytes(changed + hashlib.sha256(changed).digest())
            self.refused("--quiet", "train", self.recipe, "--out", run, "--resume", "--threads", 1)

    def test_numbers_that_lie_are_refused(self):
        whole = (self.release / "generator.safetensors").read_bytes()
        size = struct.unpack_from("<Q", whole)[0]
        header, numbers = whole[8:8 + size].rstrip(), whole[8 + size:]

        def file_of(header, numbers=numbers):
            header = header.ljust(-(-len(header) // 8) * 8)
            at = header.find(b'"sha256":"') + 10
            header = header[:at] + b"0" * 64 + header[at + 64:]
            text = struct.pack("<Q", len(header)) + header + numbers
            return text[:8 + at] + hashlib.sha256(text).hexdigest().encode() + text[8 + at + 64:]

        self.assertEqual(file_of(header), whole)
        lies = {
            "wide": file_of(header.replace(b'"width":"1"', b'"width":"512"')),
            "classes": file_of(header.replace(b'"num_classes":"2"', b'"num_classes":"65536"')),
            "offset": file_of(header.replace(b"data_offsets\":[0,", b"data_offsets\":[-4,")),
            "huge": file_of(header.replace(b"\"shape\":[", b"\"shape\":[4611686018427387904,", 1)),
            "nan": file_of(header, b"\xff" * 4 + numbers[4:]),
            "short": file_of(header, numbers[:-4]),
            "long": file_of(header, numbers + bytes(4)),
            "nested": file_of(b"[" * 100_000),
            "header": struct.pack("<Q", 1 << 63) + whole[8:],
            "empty": b"",
        }
        for name, content in lies.items():
            with self.subTest(name):
                self.assertNotEqual(content, whole)
                release = self.doctored(f"lie-{name}", content, ["generator.safetensors"])
                self.refused("sample", release, "--count", 4, "--out", self.folder / "out.npz")
                self.refused("verify", release, code=7)

    def test_a_generator_of_an_earlier_version_is_converted_without_running_it(self):
        script = SOURCE / "scripts" / "convert-generator"
        for name, content in (("plain", self.script.read_bytes()),
                              ("doctored", with_code(self.script, self.victim, "code"))):
            old, new = self.folder / f"{name}.pt", self.folder / f"{name}.safetensors"
            old.write_bytes(content)
            subprocess.run([sys.executable, script, old, new], check=True, capture_output=True)
            self.assertEqual(self.victim.read_bytes(), VICTIM)
            images = [self.folder / f"{name}-{k}.npz" for k in range(2)]
            for generator, out in zip((new, self.release), images):
                self.succeeds("sample", generator, "--count", 6, "--seed", 4, "--out", out)
            self.assertEqual(images[0].read_bytes(), images[1].read_bytes())
        for name, content in (("offset", with_offset(self.script, 64)), ("text", b"text"),
                              ("pickle", self.with_pickle(b"cos\nsystem\n(S'touch %s'\ntR." %
                                                          str(self.folder / "made").encode()))):
            (self.folder / "bad.pt").write_bytes(content)
            done = subprocess.run([sys.executable, script, self.folder / "bad.pt", self.folder / "bad.safetensors"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, name)
            self.assertRegex(done.stderr, r"\Aconvert-generator: error: [^\n]+\n\Z")
            self.assertFalse((self.folder / "bad.safetensors").exists() or (self.folder / "made").exists())

    def with_pickle(self, pickled):
        return rewritten(self.script, lambda name, content:
                         [(name, pickled if name.endswith("/data.pkl") else content)])


if __name__ == "__main__":
    unittest.main()
