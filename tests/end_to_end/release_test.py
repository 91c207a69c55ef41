"""obol release, and obol verify of what it wrote: as a curator and a recipient would."""
import base64
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import zipfile

import numpy

from support import OBOL, obol

RECIPE = """title = "Bands"

[data]
source = "{data}"
classes = 3

[privacy]
barrier = "record"
sampling_rate = 0.2
steps = 4
epsilon = 10
delta = 1e-5
histogram_noise = 5
generated_batch = 9

[generator]
width = 4
latent = 2

[method]
clip_norm = 7
regularization = 4
second_batch = 9

[run]
metrics_every = 1
"""
NAMES = {"DATA_CARD.md", "SHA256SUMS", "certificate.json", "certificate.md", "evaluation.json", "generator.pt",
         "generator.safetensors", "ledger.jsonl", "recipe.toml", "report.html", "samples.npz", "samples.png"}
OPENSSL = shutil.which("openssl")


def contents(path):
    """What is in a file, also packed: members of archives, pictures inside pages."""
    whole = path.read_bytes()
    yield path.name, path.name.encode() + whole
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield f"{path.name}:{name}", name.encode() + archive.read(name)
    for number, text in enumerate(re.findall(rb";base64,([A-Za-z0-9+/=]+)", whole)):
        yield f"{path.name}:picture {number}", base64.b64decode(text)


@unittest.skipIf(os.environ.get("OBOL_HAS_TORCH") == "0", "built without LibTorch")
class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.folder = pathlib.Path(place.name)
        random = numpy.random.default_rng(1)
        labels = numpy.arange(300) % 3
        cls.images = random.integers(0, 40, (300, 28, 28), dtype=numpy.uint8)
        for label in range(3):
            cls.images[labels == label, 4 + 8 * label:9 + 8 * label] = 220
        vault = cls.folder / "vault-quetzal"
        vault.mkdir()
        numpy.savez(vault / "ward-okapi.npz", images=cls.images, labels=labels)
        numpy.savez(vault / "held-ocelot.npz", images=cls.images[:90] // 2, labels=labels[:90])
        (cls.folder / "recipe.toml").write_text(RECIPE.format(data=vault / "ward-okapi.npz"))
        cls.run_folder = cls.folder / "run"
        cls.do("train", cls.folder / "recipe.toml", "--out", cls.run_folder, "--unsafe-diagnostics")
        cls.do("evaluate", cls.run_folder, "--against", vault / "held-ocelot.npz", "--classifiers", "logreg",
               "--count", 90, "--memorisation", "--real-baseline")
        cls.release = cls.folder / "release"
        cls.do("release", cls.run_folder, "--out", cls.release, "--count", 31, "--seed", 5)

    @classmethod
    def do(cls, *arguments, code=0):
        environment = dict(os.environ, USER="curator-ibis", LOGNAME="curator-ibis")
        done = obol(*arguments, env=environment)
        assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def copy(self, name):
        folder = self.folder / name
        shutil.copytree(self.release, folder)
        self.addCleanup(shutil.rmtree, folder)
        return folder

    def test_nothing_private_is_in_it(self):
        self.assertEqual({path.name for path in self.release.iterdir()}, NAMES)
        private = self.run_folder / "private"
        secrets = {word: word.encode() for word in
                   ("vault-quetzal", "ward-okapi", "held-ocelot", "curator-ibis", str(self.folder))}
        if len(socket.gethostname()) > 5:
            secrets["the machine"] = socket.gethostname().encode()
        key = (private / "fingerprint.key").read_bytes()
        secrets |= {"the key": key, "the key in digits": key.hex().encode()}
        found = json.loads((private / "evaluation.json").read_text())
        secrets["a private figure"] = repr(found["memorisation"]["ratio"]).encode()
        for index in (0, 1, 150, 299):
            secrets[f"record {index}"] = self.images[index].tobytes()[:28]
        # They are where they belong, so that looking for them can find them.
        kept = b"".join(part for path in [*self.run_folder.rglob("*"), *self.folder.glob("vault*/*")]
                        if path.is_file() for _, part in contents(path))
        for secret in ("vault-quetzal", "ward-okapi", "the key", "a private figure", "record 299"):
            self.assertIn(secrets[secret], kept, secret)
        looked_at = 0
        for path in self.release.iterdir():
            for name, part in contents(path):
                looked_at += 1
                for secret, value in secrets.items():
                    self.assertNotIn(value, part, f"{secret} in {name}")
        self.assertGreater(looked_at, len(NAMES) + 10, "archives are looked into")

    def test_everything_else_is(self):
        with numpy.load(self.release / "samples.npz") as samples:
            self.assertEqual(samples["images"].shape, (31, 28, 28))
            self.assertEqual(list(numpy.bincount(samples["labels"])), [11, 10, 10])
            images = samples["images"]
        self.do("sample", self.release / "generator.safetensors", "--count", 31, "--seed", 5, "--out",
                self.folder / "again.npz")
        with numpy.load(self.folder / "again.npz") as again:
            self.assertTrue((again["images"] == images).all())
        for name in ("generator.safetensors", "ledger.jsonl", "certificate.json", "certificate.md"):
            self.assertEqual((self.release / name).read_bytes(), (self.run_folder / name).read_bytes())
        # Where the images lie that the samples were compared with stays at home.
        here = json.loads((self.run_folder / "evaluation.json").read_text())
        self.assertEqual(json.loads((self.release / "evaluation.json").read_text()), here | {"source": "not told"})
        recipe = (self.release / "recipe.toml").read_text()
        self.assertIn('barrier = "record"', recipe)
        self.assertIn("# source: left out", recipe)
        card = (self.release / "DATA_CARD.md").read_text()
        for text in ("# Bands", "31, synthetic", "28x28 pixels, grey", "300 private records", "seed 5",
                     "Had any one record been left out", "hyper-parameters", "| 0 | 0 | 11 |", "Logistic regression"):
            self.assertIn(text, card)

    def test_a_recipient_checks_it(self):
        said = self.do("verify", self.release)
        self.assertIn("11 files", said)
        self.assertIn("not signed", said)
        self.assertIn("verified: epsilon", said)
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=self.release, check=True)
        folder = self.copy("changed")
        for path in sorted(folder.iterdir()):
            before = path.read_bytes()
            path.write_bytes(before[:-9] + bytes([before[-9] ^ 4]) + before[-8:])
            self.assertIn(str(path), self.do("verify", folder, code=7))
            path.unlink()
            self.assertIn(str(path), self.do("verify", folder, code=7))
            path.write_bytes(before)
        self.do("verify", folder)
        (folder / "more").write_text("")
        self.assertIn(f"{folder / 'more'} must be named", self.do("verify", folder, code=7))
        (folder / "more").unlink()
        (folder / "report.html").unlink()
        (folder / "report.html").symlink_to(self.release / "report.html")
        self.assertIn("report.html must be a regular file", self.do("verify", folder, code=7))

    @unittest.skipIf(OPENSSL is None, "no openssl here")
    def test_a_signature_says_who(self):
        def run(*arguments):
            subprocess.run([OPENSSL, *map(str, arguments)], check=True, capture_output=True)
        for name in ("key", "other"):
            run("genpkey", "-algorithm", "ed25519", "-out", self.folder / f"{name}.pem")
            run("pkey", "-in", self.folder / f"{name}.pem", "-pubout", "-out", self.folder / f"{name}.pub")
        release, known = self.folder / "signed", self.folder / "key.pub"
        self.do("release", self.run_folder, "--out", release, "--count", 5, "--sign", self.folder / "key.pem")
        self.assertEqual({path.name for path in release.iterdir()}, NAMES | {"signer.pem", "SHA256SUMS.sig"})
        self.assertNotIn("PRIVATE KEY", (release / "signer.pem").read_text())
        run("pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", known, "-in", release / "SHA256SUMS",
            "-sigfile", release / "SHA256SUMS.sig")
        self.assertIn("not by whom", self.do("verify", release))
        self.assertIn("signed by the key that was given", self.do("verify", release, "--key", known))
        self.assertIn("SHA256SUMS.sig", self.do("verify", release, "--key", self.folder / "other.pub", code=7))
        self.assertIn("public key", self.do("verify", release, "--key", self.folder / "key.pem", code=3))
        self.assertIn("SHA256SUMS.sig", self.do("verify", self.release, "--key", known, code=7))
        self.assertIn("--key", self.do("verify", self.run_folder, "--key", known, code=2))
        signature = (release / "SHA256SUMS.sig").read_bytes()
        (release / "SHA256SUMS.sig").write_bytes(signature[:40])
        self.assertIn("SHA256SUMS.sig", self.do("verify", release, code=7))
        self.assertIn("private key", self.do("release", self.run_folder, "--out", self.folder / "x", "--sign",
                                             known, code=3))

    def test_what_cannot_be_released(self):
        said = self.do("release", self.run_folder, "--out", self.release, code=3)
        self.assertRegex(said, r"\Aobol: error: [^\n]+must be a new or empty folder[^\n]+\n\Z")
        free = self.folder / "free.toml"
        text = (self.folder / "recipe.toml").read_text()
        free.write_text(text.replace('"record"', '"none"').replace("epsilon = 10\ndelta = 1e-5\n", ""))
        self.do("train", free, "--out", self.folder / "free")
        self.do("train", self.folder / "recipe.toml", "--set", "method.seed=3", "--out", self.folder / "seeded")
        for run, why in ((self.folder / "none", "a run folder"), (self.folder / "free", "trained without privacy"),
                         (self.folder / "seeded", "fixed seed")):
            said = self.do("release", run, "--out", self.folder / "no", code=2)
            self.assertRegex(said, rf"\Aobol: error: [^\n]*{why}[^\n]*\n\Z")
        self.assertFalse((self.folder / "no").exists())

    def test_killed_it_leaves_nothing_to_be_taken_for_a_release(self):
        out = self.folder / "killed" / "release"
        process = subprocess.Popen([OBOL, "release", str(self.run_folder), "--out", str(out), "--count", "500000"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not list(out.parent.glob(".release.partial-*/report.html")):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        self.assertEqual(process.wait(), -signal.SIGKILL)
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
