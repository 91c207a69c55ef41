"""Numbers that are printed below what they stand for.

Attacked: whatever prints an epsilon for people (progress, certificate, report, comparison, data card), the closed
formula of the Gaussian mechanism where noise is large and delta small, randomised response where an exponential
overflows, and the price of a histogram beside shards.

What must hold: no printed epsilon is below `epsilon_lower` of the certificate, which no accountant can beat; the
true delta at the epsilon of `obol account` is at most the delta that was asked for, by this test's own arithmetic in
120 digits. No assertion is statistical.
"""
import decimal
import html
import json
import re
import unittest

import numpy

from attack import Attack, certificate_of, write_splits

RECIPE = """
[data]
source = "{data}"

[privacy]
barrier = "batch"
sampling_rate = 0.02
noise_multiplier = {noise}
steps = {steps}
delta = 1e-5
generated_batch = 10

[generator]
width = 4
latent = 2

[method]
clip_norm = 1
regularization = 4

[run]
sample_every = 0
checkpoint_every = 100000
metrics_every = 100
"""
STEPS = 3000  # some seconds, so that progress is shown

decimal.getcontext().prec = 120
D = decimal.Decimal


def lower_tail(x):
    """Of the standard normal law at x, by the series of erf; beyond 15 nothing is left of it."""
    if abs(x) > 15:
        return D(1) if x > 0 else D(0)
    z = abs(x) / D(2).sqrt()
    term, total, n = z, z, 0
    while abs(term) > D(10) ** -115:
        n += 1
        term *= -z * z / n
        total += term / (2 * n + 1)
    erf = 2 * total / PI.sqrt()
    return (1 + erf) / 2 if x > 0 else (1 - erf) / 2


def machin():
    def arctan_inverse(n):
        power, total, k = D(1) / n, D(1) / n, 1
        while abs(power) > D(10) ** -118:
            power /= -n * n
            k += 2
            total += power / k
        return total

    return 4 * (4 * arctan_inverse(5) - arctan_inverse(239))


PI = machin()


def true_delta(epsilon, noise_multiplier):
    """Of one Gaussian release (Balle and Wang 2018)."""
    mu, epsilon = 1 / D(noise_multiplier), D(epsilon)
    return lower_tail(mu / 2 - epsilon / mu) - epsilon.exp() * lower_tail(-mu / 2 - epsilon / mu)


class Printed(Attack):
    def setUp(self):
        super().setUp()
        self.data = write_splits(self.folder / "data.npz", self.random)

    def find_noise(self):
        """A multiplier whose epsilon three digits would round down, the more the better."""
        best = (0, None)
        for noise in numpy.arange(2, 2.2, 0.02).round(2):
            priced = json.loads(self.succeeds("account", self.recipe("r", RECIPE.format(
                data=self.data, noise=noise, steps=STEPS)), "--json").stdout)
            lower = priced["epsilon_lower"]
            best = max(best, (lower - float(f"{lower:.3g}"), noise))
        self.assertIsNotNone(best[1])
        return best[1]

    def test_no_epsilon_is_printed_below_the_certified_one(self):
        run = self.folder / "printed"
        recipe = self.recipe("printed", RECIPE.format(data=self.data, noise=self.find_noise(), steps=STEPS))
        done = self.succeeds("train", recipe, "--out", run, "--threads", 1, "--no-progress")
        lower = certificate_of(run)["guarantee"]["epsilon_lower"]
        texts = {"train": done.stdout, "certificate.md": (run / "certificate.md").read_text(),
                 "verify": self.succeeds("verify", run).stdout, "account": self.succeeds("account", run).stdout}
        # Earlier lines of progress are of fewer steps.
        texts["progress"] = re.findall(r"^.* 100% .*$", done.stderr, re.MULTILINE)[-1]
        self.succeeds("report", run, "--without-private")
        texts["report"] = (run / "report.html").read_text()
        self.succeeds("compare", run, run, "--out", self.folder / "compared.html")
        texts["compare"] = (self.folder / "compared.html").read_text()
        self.succeeds("release", run, "--out", self.folder / "released", "--count", 20)
        texts["card"] = (self.folder / "released" / "DATA_CARD.md").read_text()
        for name, text in texts.items():
            text = html.unescape(re.sub(r"<(style|svg|script).*?</\1>", " ", text, flags=re.DOTALL))
            text = re.sub(r"<[^>]+>", " ", text)
            found = [float(number.rstrip(".")) for number in
                     re.findall(r"(?:[Ee]psilon|ε)[\s|*=]+(\d[\d.]*(?:e[+-]?\d+)?)", text)]
            if name == "compare":  # a table, whose numbers stand below their heading
                found = [number for number in map(float, re.findall(r"\b\d+\.\d{3,}\b", text))
                         if abs(number - lower) < lower / 10]
            self.assertTrue(found, (name, text[-2000:]))
            for number in found:
                self.assertGreaterEqual(number, lower, (name, found))
        for line in (run / "outcome.json").read_text(), (run / "metrics.jsonl").read_text().splitlines()[-1]:
            self.assertGreaterEqual(json.loads(line)["epsilon"], lower)


class Formulas(Attack):
    def account(self, *words):
        return json.loads(self.succeeds("account", *words, "--json").stdout)

    def test_this_tests_own_arithmetic(self):
        """Against a value that anyone can look up: the normal law at 1.96."""
        self.assertAlmostEqual(float(lower_tail(D("1.96"))), 0.9750021048517795, places=15)
        self.assertAlmostEqual(float(true_delta(1, 1)), 0.1269367, places=6)

    def test_the_gaussian_formula_never_gives_too_little(self):
        for noise, delta in ((1, 1e-5), (50, 1e-9), (1e6, 1e-12), (1e8, 1e-10), (1e10, 1e-14), (1e15, 1e-18),
                             (1e16, 1e-19)):
            with self.subTest(noise=noise, delta=delta):
                found = self.account("--sampling", "none", "--noise-multiplier", noise, "--steps", 1, "--delta", delta)
                self.assertLessEqual(true_delta(found["epsilon"], noise), D(delta))
                if found["epsilon_lower"]:
                    self.assertGreaterEqual(true_delta(found["epsilon_lower"], noise), D(delta))

    def test_labels_are_not_published_as_they_are(self):
        data = write_splits(self.folder / "data.npz", self.random)
        out = self.folder / "labelled.npz"
        done = self.obol("privatize", data, "--mechanism", "laplace", "--epsilon", 5, "--radius", 3, "--labels",
                         "randomized-response", "--label-epsilon", 750, "--out", out)
        self.assertNotEqual(done.returncode, 0, "e^750 is no number of a double: nothing is drawn that is this rare")
        self.assertFalse(out.exists())

    def test_a_histogram_beside_shards_costs_what_replacing_a_record_changes(self):
        recipe = self.recipe("shards", """
[privacy]
barrier = "batch"
shards = 4
noise_multiplier = 5
steps = 4
generated_batch = 4
delta = 1e-5
histogram_noise = 10

[method]
name = "gs-wgan"
""")
        done = self.obol("account", recipe, "--json")
        if done.returncode:
            self.assertRegex(done.stderr, r"\Aobol: error: [^\n]*histogram[^\n]*\n\Z")
            return
        for event in json.loads(done.stdout)["events"]:
            if "histogram" in event["purpose"]:
                self.assertLessEqual(event["event"]["noise_multiplier"], 10 / 2 ** 0.5)


if __name__ == "__main__":
    unittest.main()
