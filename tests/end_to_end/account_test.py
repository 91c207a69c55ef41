"""Accounting as a user meets it: numbers, recipes, runs, certificates, and what is refused."""
import json
import re
import unittest

from support import InFolder, obol, write_ledger

NUMBERS = ("--sampling-rate", "0.01", "--noise-multiplier", "0.8", "--steps", "2000", "--delta", "1e-5")


def steps(count, rate=0.01, noise=0.8):
    return ("training", {"mechanism": "SampledGaussian", "sampling_rate": rate,
                         "noise_multiplier": noise, "count": count})


class Numbers(InFolder):
    def account(self, *arguments):
        return json.loads(self.succeeds("account", *arguments, "--json"))

    def test_the_keys_are_a_contract(self):
        answer = self.account(*NUMBERS)
        for key in ("epsilon", "epsilon_lower", "delta", "accountant", "order", "neighbours", "rdp",
                    "seconds"):
            self.assertIn(key, answer)
        self.assertEqual((answer["accountant"], answer["order"], answer["neighbours"]),
                         ("pld", None, "add-remove"))
        self.assertGreaterEqual(answer["epsilon"], 4.293436288)
        self.assertLess(answer["epsilon"] - 4.293436288, 1e-3)
        self.assertLessEqual(answer["epsilon_lower"], 4.293436289)

    def test_figures_that_were_agreed_on(self):
        row = ("--sampling-rate", "1/1200", "--noise-multiplier", "1.5", "--delta", "1e-5")
        self.assertAlmostEqual(self.account(*row, "--steps", "8e6")["epsilon"], 8.572735, delta=1e-3)
        self.assertAlmostEqual(
            self.account(*row, "--steps", "160000", "--releases-per-step", "50")["epsilon"], 844.31,
            delta=0.01)
        shard = ("--sampling", "shard", "--sampling-rate", "1/1000", "--steps", "20000", "--delta", "1e-5")
        self.assertAlmostEqual(self.account(*shard, "--noise-multiplier", "0.5")["epsilon"], 7.364,
                               delta=1e-3)
        answer = self.account(*shard, "--noise-multiplier", 1.07 / 32 ** 0.5)
        self.assertAlmostEqual(answer["epsilon"], 346.66, delta=0.01)
        self.assertEqual(answer["neighbours"], "replace-one")
        self.assertAlmostEqual(
            self.account("--sampling", "none", "--noise-multiplier", "5", "--steps", "100",
                         "--delta", "1e-5")["epsilon"], 9.997256, delta=1e-3)

    def test_renyi_curve_conversions_and_orders(self):
        answer = self.account(*NUMBERS, "--accountant", "rdp", "--orders", "1.25,2,16")
        self.assertEqual(list(answer["rdp"]), ["1.25", "2", "16"])
        self.assertAlmostEqual(answer["rdp"]["1.25"] / (2000 * 0.0002241862116460566), 1, delta=1e-9)
        self.assertGreater(answer["order"], 1)
        classic = self.account(*NUMBERS, "--accountant", "rdp", "--conversion", "classic")
        self.assertGreater(classic["epsilon"], answer["epsilon"])
        batches = self.account("--sampling", "without-replacement", "--sampling-rate", "1/1000",
                               "--noise-multiplier", "1.07", "--steps", "640000", "--delta", "1e-5",
                               "--conversion", "classic")
        self.assertAlmostEqual(batches["epsilon"], 9.992623570832228, delta=1e-8)
        self.assertEqual((batches["accountant"], batches["neighbours"]), ("rdp", "replace-one"))

    def test_groups_cost_more(self):
        self.assertGreater(self.account(*NUMBERS, "--group-size", "3")["epsilon"],
                           2 * self.account(*NUMBERS)["epsilon"])

    def test_what_cannot_be_meant_is_refused_in_one_sentence(self):
        for change in (("--sampling-rate", "1.5"), ("--sampling-rate", "0"), ("--sampling-rate", "nan"),
                       ("--noise-multiplier", "0"), ("--noise-multiplier", "-1"),
                       ("--noise-multiplier", "inf"), ("--delta", "1"), ("--delta", "-0.1"),
                       ("--delta", "0"), ("--steps", "-1"), ("--steps", "2.5"), ("--group-size", "0"),
                       ("--releases-per-step", "0"), ("--orders", "1"), ("--orders", "2,x"),
                       ("--sampling", "other"), ("--accountant", "moments")):
            arguments = list(NUMBERS)
            if change[0] in arguments:
                arguments[arguments.index(change[0]) + 1] = change[1]
            else:
                arguments += change
            with self.subTest(change=change):
                self.fails(2, "account", *arguments)
        self.assertIn("--delta", self.fails(2, "account", *NUMBERS[:-2]))
        self.assertIn("--steps", self.fails(2, "account", *NUMBERS[:4], *NUMBERS[6:]))
        self.fails(3, "account", *NUMBERS, "--sampling", "without-replacement", "--accountant", "pld")
        self.fails(3, "account", *NUMBERS, "--sampling", "shard", "--group-size", "2")

    def test_options_that_would_be_ignored_are_refused(self):
        self.fails(2, "account", *NUMBERS, "--accountant", "pld", "--conversion", "classic")
        self.fails(2, "account", "dp_sinkhorn/mnist_paper", "--sampling", "shard")
        self.fails(2, "account", "dp_sinkhorn/mnist_paper", "--releases-per-step", "3")
        self.fails(2, "calibrate", "--epsilon", "1", "--delta", "1e-5", "--sampling", "none",
                   "--sampling-rate", "0.5", "--steps", "10")

    def test_quiet_counts_after_a_command_too(self):
        result = obol("account", *NUMBERS, "--plot", "curve.svg", "--quiet")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_plot_is_an_svg_that_stands_alone(self):
        self.succeeds("account", *NUMBERS, "--plot", "curve.svg")
        text = (self.folder / "curve.svg").read_text()
        self.assertTrue(text.startswith("<svg"))
        self.assertNotRegex(text, r'(href|src)=')
        self.assertNotIn("nan", text)


class Recipes(InFolder):
    def test_dp_sinkhorns_setting_shows_both_numbers_and_says_which_holds(self):
        text = self.succeeds("account", "dp_sinkhorn/mnist_paper")
        self.assertRegex(text, r"guarantee +epsilon 844\.3")
        self.assertRegex(text, r"as published +epsilon 10\.02")
        self.assertIn("not a guarantee", " ".join(text.split()))
        answer = json.loads(self.succeeds("account", "dp_sinkhorn/mnist_paper", "--json"))
        self.assertAlmostEqual(answer["as_published"]["epsilon"], 10.020967, delta=1e-5)
        self.assertFalse(answer["as_published"]["is_a_guarantee"])
        text = self.succeeds("account", "gs_wgan/mnist_paper", "--set", "privacy.barrier=batch")
        self.assertIn("not a guarantee", " ".join(text.split()), "amplification is not proved there")
        answer = json.loads(self.succeeds("account", "gs_wgan/mnist_paper", "--json"))
        self.assertAlmostEqual(answer["as_published"]["epsilon"], 9.9927, delta=2e-4)
        self.assertAlmostEqual(answer["epsilon"], 605.69, delta=0.01)
        self.assertEqual(answer["neighbours"], "replace-one")

    def test_every_recipe_with_a_price_has_one(self):
        for line in self.succeeds("recipes", "list").splitlines():
            name = line.split()[0]
            if "no_privacy" in name:
                self.assertIn("privacy.barrier must be row", self.fails(2, "account", name))
                self.succeeds("recipes", "show", name, "--resolved")
            elif name.startswith("ldp_wgan/"):
                self.assertIn("certificate has the price", self.fails(2, "account", name))
                self.succeeds("recipes", "show", name, "--resolved")
            elif not name.startswith("data/"):
                self.assertGreater(json.loads(self.succeeds("account", name, "--json"))["epsilon"], 0)
                self.succeeds("recipes", "show", name, "--resolved")

    def test_what_is_open_is_calibrated_and_overrides_count(self):
        text = self.succeeds("account", "dp_sinkhorn/mnist_paper", "--set", "privacy.barrier=batch")
        self.assertRegex(text, r"guarantee +epsilon 0\.")
        (self.folder / "mine.toml").write_text(
            '[privacy]\nbarrier = "record"\nsampling_rate = 0.01\nepsilon = 3\ndelta = 1e-5\nsteps = 500\n')
        text = self.succeeds("account", "mine.toml")
        self.assertRegex(text, r"calibrated: noise_multiplier \d")
        self.assertRegex(text, r"budget +epsilon 3: kept")
        (self.folder / "bad.toml").write_text('[privacy]\nbarrier = "record"\nsampling_rat = 0.01\n')
        self.assertIn("sampling_rate", self.fails(2, "account", "bad.toml"))


class Calibrate(InFolder):
    def calibrate(self, *arguments):
        return json.loads(self.succeeds("calibrate", *arguments, "--json"))

    def test_noise_steps_and_rate(self):
        budget = ("--epsilon", "10", "--delta", "1e-5")
        noise = self.calibrate(*budget, "--sampling-rate", "0.1", "--steps", "1000")["noise_multiplier"]
        self.assertGreaterEqual(noise, 1.7489581)
        self.assertAlmostEqual(noise / 1.7489581287849971, 1, delta=1e-4)
        renyi = self.calibrate(*budget, "--sampling-rate", "0.1", "--steps", "1000", "--accountant", "rdp")
        self.assertAlmostEqual(renyi["noise_multiplier"] / 1.8455712167772342, 1, delta=1e-4)
        answer = self.calibrate(*budget, "--sampling-rate", "0.1", "--noise-multiplier", noise)
        self.assertEqual(answer["steps"], 1000)
        answer = self.calibrate(*budget, "--steps", "1000", "--noise-multiplier", noise)
        self.assertAlmostEqual(answer["sampling_rate"], 0.1, delta=1e-5)
        self.assertLessEqual(answer["epsilon"], 10)

    def test_the_gaussian_mechanism_by_three_formulas(self):
        one = ("gaussian", "--epsilon", "1", "--delta", "1e-5", "--sensitivity", "1")
        self.assertAlmostEqual(self.calibrate(*one)["noise_multiplier"], 3.730631634816, delta=1e-9)
        self.assertAlmostEqual(self.calibrate(*one, "--formula", "zhao")["noise_multiplier"],
                               4.60885808304, delta=1e-9)
        self.assertIn("below 1", self.fails(2, "calibrate", *one, "--formula", "classic"))
        half = self.calibrate("gaussian", "--epsilon", "1/2", "--delta", "1e-5", "--sensitivity", "3")
        self.assertAlmostEqual(half["standard_deviation"], 3 * half["noise_multiplier"])

    def test_what_cannot_be_solved_says_why(self):
        budget = ("--epsilon", "10", "--delta", "1e-5")
        self.assertIn("all but one", self.fails(2, "calibrate", *budget, "--steps", "10"))
        self.fails(2, "calibrate", *budget)
        self.fails(2, "calibrate", "--delta", "1e-5", "--steps", "10", "--sampling-rate", "1")
        self.fails(4, "calibrate", "--epsilon", "0.1", "--delta", "1e-9", "--sampling-rate", "1",
                   "--noise-multiplier", "0.1")


class Runs(InFolder):
    def test_a_run_and_several_on_the_same_data(self):
        one = write_ledger(self.folder / "a", [steps(800)])
        two = write_ledger(self.folder / "b", [steps(1000), steps(200)])
        answer = json.loads(self.succeeds("account", one, two, "--delta", "1e-5", "--json"))
        self.assertAlmostEqual(answer["epsilon_if_fixed"], 4.293436, delta=1e-3)
        # The second may have been chosen by looking at the first: epsilons add up, each at half of delta.
        halves = [json.loads(self.succeeds("account", run, "--delta", "5e-6", "--json"))["epsilon"]
                  for run in (one, two)]
        self.assertAlmostEqual(answer["epsilon"], sum(halves), delta=1e-9)
        self.assertIn("--delta", self.fails(2, "account", one))
        other = write_ledger(self.folder / "c", [], neighbours="replace-one")
        self.fails(3, "account", one, other, "--delta", "1e-5")
        self.fails(3, "account", one, self.folder, "--delta", "1e-5")

    def test_a_folder_stands_for_all_runs_below_it_each_once(self):
        one = write_ledger(self.folder / "all" / "a", [steps(800)])
        write_ledger(self.folder / "all" / "more" / "b", [steps(1200)])
        write_ledger(self.folder / "all" / ".c.partial-1", [steps(5000)])
        for what in (["all"], ["all/"], [one, "all", "all/more/b"]):
            answer = json.loads(self.succeeds("account", *what, "--delta", "1e-5", "--json"))
            self.assertAlmostEqual(answer["epsilon_if_fixed"], 4.293436, delta=1e-3)
            self.assertEqual([cost["run"].split("/")[-1] for cost in answer["runs"]], ["a", "b"])
        alone = json.loads(self.succeeds("account", one, "--delta", "1e-5", "--json"))
        self.assertEqual(answer["runs"][0]["epsilon"], alone["epsilon"])
        self.assertEqual(alone["runs"], [], "of several")
        text = " ".join(self.succeeds("account", "all", "--delta", "1e-5").split())
        self.assertRegex(text, r"these 2 runs have epsilon [5-9]\.\d+ at delta 1e-05, also where each was")
        self.assertRegex(text, r"fixed before the first release, .* it is epsilon 4\.293")
        self.assertIn("taken to be on the same data", text)
        (self.folder / "all" / "open").mkdir()
        (self.folder / "all" / "open" / "recipe.toml").touch()
        text = self.succeeds("account", "all", "--delta", "1e-5")
        self.assertIn("all/open: trained without privacy; no number covers its release", text)
        (self.folder / "empty").mkdir()
        self.assertIn("a run, or a folder with runs below it", self.fails(3, "account", "empty"))

    def test_a_plan_is_certified_as_a_whole(self):
        run = write_ledger(self.folder / "a", [steps(300)], plan=[steps(2000)])
        answer = json.loads(self.succeeds("account", run, "--delta", "1e-5", "--json"))
        self.assertAlmostEqual(answer["epsilon"], 4.293436, delta=1e-3)
        self.assertIn("epsilon 4.2934", self.succeeds("certify", run, "--delta", "1e-5"))
        self.succeeds("verify", run)
        text = (run / "certificate.md").read_text()
        self.assertIn("What was planned", text)
        self.assertNotIn("has no plan", text)
        write_ledger(self.folder / "b", [steps(300)])
        self.succeeds("certify", "b", "--delta", "1e-5")
        self.assertIn("has no plan", (self.folder / "b" / "certificate.md").read_text())
        write_ledger(self.folder / "c", [steps(300)], plan=[steps(299)])
        self.assertIn("at most 299, as planned and left",
                      self.fails(3, "account", "c", "--delta", "1e-5"))

    def test_a_certificate_verifies_until_anything_is_touched(self):
        run = write_ledger(self.folder / "a", [steps(2000)])
        self.assertIn("epsilon 4.2934", self.succeeds("certify", run, "--delta", "1e-5"))
        self.assertIn("verified: epsilon 4.2934", self.succeeds("verify", run))
        self.assertIn("4.2934", self.succeeds("account", run))
        certificate = json.loads((run / "certificate.json").read_text())
        self.assertTrue(certificate["guarantee"]["holds"])
        text = (run / "certificate.json").read_text()
        (run / "certificate.json").write_text(text.replace('"epsilon": 4.', '"epsilon": 1.'))
        self.assertIn("guarantee.epsilon", self.fails(7, "verify", run))
        (run / "certificate.json").write_text(text)
        self.succeeds("verify", run)
        ledger = (run / "ledger.jsonl").read_text()
        (run / "ledger.jsonl").write_text(ledger.replace('"count":2000', '"count":1000'))
        self.assertIn("ledger.jsonl:2", self.fails(3, "verify", run))
        write_ledger(run, [steps(1000)])
        self.fails(7, "verify", run)

    def test_torn_and_damaged_ledgers_are_named(self):
        run = write_ledger(self.folder / "a", [steps(1000), steps(1000)])
        ledger = run / "ledger.jsonl"
        whole = ledger.read_bytes()
        ledger.write_bytes(whole[:-30])
        text = self.succeeds("account", run, "--delta", "1e-5")
        self.assertIn("torn", text)
        self.assertIn("epsilon 4.2934", text, "the torn reservation counts")
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 1
        ledger.write_bytes(flipped)
        self.assertRegex(self.fails(3, "account", run, "--delta", "1e-5"), r"ledger\.jsonl:\d")

    def test_a_fixed_seed_is_said_everywhere(self):
        run = write_ledger(self.folder / "a", [steps(10)], randomness="not private: fixed seed 7")
        self.assertIn("not private: fixed seed 7", self.succeeds("account", run, "--delta", "1e-5"))
        self.succeeds("certify", run, "--delta", "1e-5")
        self.assertIn("not private: fixed seed 7", self.succeeds("verify", run))
        self.assertIn("Not private", (run / "certificate.md").read_text())


if __name__ == "__main__":
    unittest.main()
