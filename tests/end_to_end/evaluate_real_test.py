"""The evaluator on real data, of which the results are known: trained on the training split, tested
on the test split, by the papers' protocol: the quick one stops the CNN at 89% on Fashion-MNIST. It
takes an hour or more on two cores."""
import json
import os
import subprocess
import unittest

OBOL = os.environ["OBOL"]


def evaluate(name):
    if subprocess.run([OBOL, "data", "get", name], capture_output=True).returncode != 0:
        raise unittest.SkipTest(f"{name} cannot be had here")
    done = subprocess.run([OBOL, "evaluate", name, "--against", name, "--classifiers", "logreg,cnn",
                           "--protocol", "paper", "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


class OnRealData(unittest.TestCase):
    def check(self, name, cnn, logreg, margin):
        found = evaluate(name)
        scores = {key: score["accuracy"] for key, score in found["classifiers"].items()}
        print(name, scores, {key: one["value"] for key, one in found["quality"].items()})
        self.assertGreaterEqual(scores["cnn"], cnn)
        self.assertAlmostEqual(scores["logreg"], logreg, delta=margin)
        quality = found["quality"]
        for key in ("precision", "coverage"):
            self.assertGreater(quality[key]["value"], 0.8)
        wasserstein = quality["wasserstein_exact"]
        self.assertAlmostEqual(wasserstein["value"] / wasserstein["between_real"], 1, delta=0.03)

    def test_fashion_mnist(self):
        self.check("fashion-mnist", cnn=0.90, logreg=0.84, margin=0.01)

    def test_mnist(self):
        self.check("mnist", cnn=0.99, logreg=0.92, margin=0.007)


if __name__ == "__main__":
    unittest.main()
