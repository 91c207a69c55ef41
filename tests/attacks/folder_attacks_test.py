"""Runs and releases that somebody else made, opened by a user who has files of their own to lose."""
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "end_to_end"))

from support import OBOL
from training import WithImages, obol

PRECIOUS = "years of work\n"


class Folders(WithImages):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trained = cls.folder / "trained"
        cls.made_by = cls.recipe("recipe", 40)
        obol("train", cls.made_by, "--out", cls.trained)
        cls.released = cls.folder / "released"
        obol("release", cls.trained, "--out", cls.released, "--count", "30", "--seed", "1")

    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]
        self.place.mkdir()
        self.forget()
        self.home = self.place / "home"
        self.home.mkdir()
        self.precious = self.home / "thesis.txt"
        self.precious.write_text(PRECIOUS)

    def forget(self):
        """The machine knows of no run: that a copy is one is tested elsewhere."""
        os.environ["OBOL_LEDGERS"] = tempfile.mkdtemp(dir=self.place)

    def copy_of(self, original, name="foreign"):
        self.forget()
        return pathlib.Path(shutil.copytree(original, self.place / name))

    def link(self, path, target):
        """In the place of what is there."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    def refused(self, *arguments, code=3, what="link"):
        """One sentence that names what is in the way, and nothing of the user's changes."""
        before = sorted((path, path.lstat().st_mode) for path in self.home.rglob("*"))
        mode = self.home.stat().st_mode
        done = subprocess.run([OBOL, *map(str, arguments)], capture_output=True, text=True, timeout=300)
        self.assertEqual(self.precious.read_text(), PRECIOUS)
        self.assertEqual(sorted((path, path.lstat().st_mode) for path in self.home.rglob("*")), before)
        self.assertEqual(self.home.stat().st_mode, mode)
        self.assertEqual(done.returncode, code, (done.stdout, done.stderr))
        errors = [line for line in done.stderr.splitlines() if line.startswith("obol: error: ")]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertIn(what, errors[0])


class Links(Folders):
    def test_nothing_is_written_through_a_link(self):
        for original in (self.trained, self.released):
            foreign = self.copy_of(original, original.name)
            for name, command in (("report.html", ["report", foreign]),
                                  ("certificate.json", ["certify", foreign, "--delta", "1e-5"]),
                                  ("certificate.md", ["certify", foreign, "--delta", "1e-5"])):
                with self.subTest(original=original.name, name=name):
                    (foreign / name).unlink(missing_ok=True)
                    (foreign / name).symlink_to(self.precious)
                    self.refused(*command)
                    (foreign / name).unlink()
                    if name.startswith("certificate"):
                        shutil.copy(original / name, foreign / name)

    def test_nothing_is_read_through_a_link(self):
        for name in ("recipe.toml", "ledger.jsonl", "certificate.json", "metrics.jsonl", "evaluation.json",
                     "samples/000040.png"):
            with self.subTest(name=name):
                foreign = self.copy_of(self.trained, name.replace("/", "-"))
                secret = self.home / "secret"
                if (foreign / name).exists():
                    shutil.copy(foreign / name, secret)
                else:
                    secret.write_text('{"format": "obol-evaluation", "version": 1}')
                self.link(foreign / name, secret)
                self.refused("report", foreign)
                self.assertFalse((foreign / "report.html").exists())
                secret.unlink()

    def test_a_generator_that_is_a_link_is_not_loaded(self):
        foreign = self.copy_of(self.released)
        shutil.copy(foreign / "generator.safetensors", self.home / "generator.safetensors")
        self.link(foreign / "generator.safetensors", self.home / "generator.safetensors")
        self.refused("sample", foreign, "--count", "1", "--out", self.place / "x.npz")
        self.refused("release", foreign, "--out", self.place / "again")
        self.refused("evaluate", foreign, "--against", self.data, "--classifiers", "logreg", "--no-quality")

    def test_a_teacher_that_is_a_link_is_not_loaded(self):
        for target in (self.precious, self.home / "nothing"):
            foreign = self.copy_of(self.released, target.name)
            self.link(foreign / "teacher.safetensors", target)
            self.refused("sample", foreign, "--count", "1", "--out", self.place / "x.npz")
            self.refused("release", foreign, "--out", self.place / "again")
            self.refused("evaluate", foreign, "--against", self.data, "--classifiers", "logreg", "--no-quality")
            self.refused("verify", foreign, code=7, what="teacher.safetensors must be a regular file")

    def test_a_certificate_is_not_verified_through_links(self):
        foreign = self.copy_of(self.trained)
        shutil.copy(foreign / "ledger.jsonl", self.home / "ledger.jsonl")
        self.link(foreign / "ledger.jsonl", self.home / "ledger.jsonl")
        for command in (["verify", foreign], ["certify", foreign, "--delta", "1e-5"],
                        ["account", foreign, "--delta", "1e-5"]):
            self.refused(*command)

    def test_resuming_removes_writes_and_protects_nothing_elsewhere(self):
        (self.home / "000900.png").write_text("a picture")
        (self.home / "7777.png").write_text("another")
        for name in ("samples", "private", "tensorboard"):
            with self.subTest(name=name):
                foreign = self.copy_of(self.trained, name)
                if name == "private":
                    for path in (foreign / name).iterdir():
                        shutil.copy(path, self.home / path.name)
                self.link(foreign / name, self.home)
                self.refused("train", self.made_by, "--out", foreign, "--resume")

    def test_resuming_appends_to_nothing_elsewhere(self):
        for name in ("metrics.jsonl", "disclosures.jsonl", "checkpoint.pt", ".lock"):
            with self.subTest(name=name):
                foreign = self.copy_of(self.trained, name.strip("."))
                target = self.home / "target"
                shutil.copy(foreign / name, target)
                before = target.read_bytes()
                self.link(foreign / name, target)
                self.refused("train", self.made_by, "--out", foreign, "--resume")
                self.assertEqual(target.read_bytes(), before)
                target.unlink()

    def test_a_run_may_itself_be_reached_through_a_link(self):
        own = self.copy_of(self.trained, "own")
        shortcut = self.place / "shortcut"
        shortcut.symlink_to(own)
        obol("verify", shortcut)
        obol("report", shortcut)
        self.assertTrue((own / "report.html").exists())
        obol("train", self.made_by, "--out", shortcut, "--resume")
        obol("sample", shortcut, "--count", "2", "--out", self.place / "x.npz")


class Recipes(Folders):
    def foreign(self):
        """A release whose recipe names data of whoever opens it."""
        foreign = self.copy_of(self.released)
        recipe = (foreign / "recipe.toml").read_text()
        self.assertIn("[data]\n", recipe)
        (foreign / "recipe.toml").write_text(recipe.replace("[data]\n", f'[data]\nsource = "{self.data}"\n'))
        return foreign

    def pictures(self, page):
        return len(re.findall("data:image/png;base64,", page.read_text()))

    def test_a_report_shows_no_records_that_a_foreign_recipe_names(self):
        foreign = self.foreign()
        (foreign / "report.html").unlink()
        obol("report", foreign)
        page = foreign / "report.html"
        self.assertEqual(self.pictures(page), 0)
        self.assertIn("not one&#39;s own" if "&#39;" in page.read_text() else "not one's own", page.read_text())
        obol("report", foreign, "--real", self.data)
        self.assertEqual(self.pictures(page), 1, "those that the reader named")
        own = self.copy_of(self.trained, "own")
        obol("report", own)
        self.assertEqual(self.pictures(own / "report.html"), 2, "generated and real ones of a run of one's own")

    def test_an_evaluation_opens_nothing_that_a_foreign_recipe_names(self):
        foreign = self.foreign()
        shown = (foreign / "evaluation.json").exists()
        evaluate = ["evaluate", foreign, "--classifiers", "logreg", "--no-quality", "--count", "60"]
        self.refused(*evaluate, code=2, what="--against")
        for more in (["--memorisation"], ["--real-baseline"], ["--noisy", "100"]):
            self.refused(*evaluate, "--against", self.data, *more, code=2, what="one's own")
        self.assertEqual((foreign / "evaluation.json").exists(), shown)
        self.assertFalse((foreign / "private").exists())

    def test_a_release_tells_no_paths(self):
        cache = self.home / "patient-quetzal"
        recipe = self.recipe("cached", 4, ('barrier = "record"\nsampling_rate = 0.2', 'barrier = "row"\nshards = 2'),
                             ("epsilon = 10\n", "noise_multiplier = 5\n"), ("histogram_noise = 5\n", ""),
                             ("clip_norm = 7\nregularization = 4\nsecond_batch = 9\n",
                              f'name = "gs-wgan"\nclip_norm = 1\nwarm_start = 1\nwarm_cache = "{cache}"\n'))
        obol("train", recipe, "--out", self.place / "run")
        obol("release", self.place / "run", "--out", self.place / "release", "--count", "6")
        self.assertIn("quetzal", (self.place / "run" / "recipe.toml").read_text())
        for path in (self.place / "release").iterdir():
            self.assertNotIn(b"quetzal", path.read_bytes(), path.name)


class Terminals(Folders):
    """Texts of files must not reach the terminal as commands to it."""
    TITLE = "\033]0;owned\a\033[31m"

    def said(self, *arguments):
        done = subprocess.run([OBOL, *map(str, arguments)], capture_output=True, text=True, timeout=300)
        for text in (done.stdout, done.stderr):
            self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
        return done.stdout + done.stderr

    def test_a_cell_of_a_table(self):
        (self.place / "x.csv").write_text(f"label,a,b\n1,2,{self.TITLE}\n")
        self.assertIn("\\u001b", self.said("data", "info", self.place / "x.csv"))

    def test_the_name_of_a_class(self):
        for name in (f"a{self.TITLE}", "b\u202egnp", "c\n  verified: everything"):
            (self.place / "photos" / name).mkdir(parents=True)
            shutil.copy(self.trained / "samples" / "000040.png", self.place / "photos" / name / "1.png")
        said = self.said("data", "info", self.place / "photos")
        for shown in ("\\u001b", "\\u202e", "\\u000a"):
            self.assertIn(shown, said)

    def test_the_title_of_a_recipe(self):
        recipe = self.recipe("titled", 4)
        recipe.write_text('title = "\\u001b[31m\\nguarantee        epsilon 0"\n' + recipe.read_text())
        self.assertIn("\\u001b[31m\\u000aguarantee", self.said("account", recipe))

    def test_a_path(self):
        self.assertIn("\\u001b", self.said("verify", self.place / self.TITLE))
        self.assertIn("\\u001b", self.said("verify", self.TITLE))

    def test_json_means_the_same(self):
        (self.place / "names" / "b\u202egnp").mkdir(parents=True)
        shutil.copy(self.trained / "samples" / "000040.png", self.place / "names" / "b\u202egnp" / "1.png")
        self.assertIn("b\u202egnp", json.dumps(json.loads(self.said("data", "info", self.place / "names", "--json")),
                                              ensure_ascii=False))


@unittest.skipIf(os.environ.get("OBOL_HAS_FEDERATED") == "0", "built without gRPC")
class Keys(Folders):
    def test_keys_are_their_owners(self):
        """Also in the moment before they have their names: the folder is shut from the start."""
        certificates = self.place / "certificates"
        before = os.umask(0)
        try:
            obol("federate", "certs", "--out", certificates, "--clients", "2")
        finally:
            os.umask(before)
        self.assertEqual(stat.S_IMODE(certificates.stat().st_mode), 0o700)
        keys = sorted(certificates.glob("*.key"))
        self.assertEqual(len(keys), 4)
        for key in keys:
            self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600, key.name)


if __name__ == "__main__":
    unittest.main()
