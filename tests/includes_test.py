"""The arrow test itself: it must see each kind of forbidden include, and let the others pass."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(os.environ["SOURCE"]) / "scripts" / "check-includes"


def check(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True)


class Arrows(unittest.TestCase):
    def test_forward_arrows_pass(self):
        result = check({"obol/data/a.cpp": '#include "obol/base/error.h"\n#include "obol/data/b.h"\n',
                        "cli/tensor/x.cpp": "#include <torch/torch.h>\n",
                        "obol/app/tensor/x.cpp": "#include <torch/torch.h>\n",
                        "obol/model/net.cpp": "#include <torch/torch.h>\n"})
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_backward_and_sideways_arrows_fail(self):
        for name, include in [("obol/base/a.h", "obol/data/dataset.h"),
                              ("obol/transport/a.cpp", "obol/privacy/ledger.h"),
                              ("obol/data/a.cpp", "cli/app.h"),
                              ("obol/data/a.cpp", "obol/nowhere/x.h")]:
            result = check({name: f'  #  include "{include}"\n'})
            self.assertEqual(result.returncode, 1, (name, include))
            self.assertIn(f"{name}:1", result.stdout)

    def test_torch_in_a_torch_free_module_fails(self):
        for name in ("obol/data/a.cpp", "obol/privacy/a.h", "obol/app/a.cpp", "cli/data.cpp"):
            self.assertEqual(check({name: "#include <ATen/ATen.h>\n"}).returncode, 1, name)

    def test_a_module_without_a_place_fails(self):
        self.assertEqual(check({"obol/attic/a.cpp": "\n"}).returncode, 1)

    def test_an_empty_tree_fails(self):
        self.assertEqual(check({}).returncode, 1)


if __name__ == "__main__":
    unittest.main()
