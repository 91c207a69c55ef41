"""Bounds that are printed are bounds: at the edges of what numbers can be, too."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "end_to_end"))

from support import InFolder, write_idx

# The smallest epsilon of the Gaussian mechanism, from a computation with 160 digits.
TRUTH = {("1e6", "1e-12"): 4.4248927590894825e-06, ("1e10", "1e-14"): 3.363015325970704e-10,
         ("1e16", "1e-19"): 2.7178055152317573e-16}


class Numbers(InFolder):
    def test_the_gaussian_mechanism_at_large_multipliers(self):
        for (multiplier, delta), truth in TRUTH.items():
            with self.subTest(multiplier=multiplier):
                terms = ["account", "--sampling", "none", "--noise-multiplier", multiplier, "--steps", "1", "--delta",
                         delta]
                found = json.loads(self.succeeds(*terms, "--json"))
                self.assertGreaterEqual(found["epsilon"], truth)
                self.assertLessEqual(found["epsilon_lower"], truth)
                line = next(line for line in self.succeeds(*terms).splitlines() if line.startswith("guarantee"))
                self.assertGreaterEqual(float(line.split()[2]), truth)

    def test_labels_are_never_published_under_an_epsilon_that_is_none(self):
        write_idx(self.folder / "data", [bytes([i % 256] * 16) for i in range(40)], [i % 2 for i in range(40)])
        for epsilon in ("750", "45"):
            self.assertIn("labels", self.fails(2, "privatize", "data", "--classes", "2", "--mechanism", "laplace", "--epsilon", "5", "--radius", "1",
                                               "--labels", "randomized-response", "--label-epsilon", epsilon,
                                               "--out", "out.npz"))
            self.assertFalse((self.folder / "out.npz").exists())

    def test_a_histogram_beside_shards_has_no_price(self):
        (self.folder / "r.toml").write_text('[privacy]\nbarrier = "batch"\nshards = 10\nnoise_multiplier = 5\n'
                                            "steps = 100\ndelta = 1e-5\nhistogram_noise = 5\ngenerated_batch = 8\n"
                                            '[method]\nname = "gs-wgan"\n')
        self.assertIn("histogram_noise", self.fails(2, "account", "r.toml"))


if __name__ == "__main__":
    unittest.main()
