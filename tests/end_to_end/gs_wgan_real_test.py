"""The small recipe of GS-WGAN, whole: minutes."""
import json
import pathlib
import tempfile
import unittest

from training import obol


class SmallRecipe(unittest.TestCase):
    def test_learns(self):
        with tempfile.TemporaryDirectory() as place:
            run = pathlib.Path(place) / "run"
            obol("train", "gs_wgan/mnist_cpu", "--out", run, timeout=3600)
            found = json.loads(obol("evaluate", run, "--classifiers", "logreg", "--no-quality", "--count", "20000", "--json",
                                    timeout=3600).stdout)
            # 39% in the one run that was made; a tenth is chance.
            self.assertGreater(found["classifiers"]["logreg"]["accuracy"], 0.25)


if __name__ == "__main__":
    unittest.main()
