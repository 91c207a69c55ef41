"""obol transport: what every option does, and its values against NumPy, SciPy and POT."""
import json
import signal
import subprocess
import time
import unittest

import numpy as np

try:
    import ot
except ImportError:
    ot = None
try:
    from scipy.optimize import linear_sum_assignment
except ImportError:
    linear_sum_assignment = None

from support import OBOL, InFolder, obol

KEYS = ["value", "dual", "converged", "iterations", "marginal_error", "seconds"]


def softmin(cost, g, regularization):
    """Of rows, between uniform weights."""
    h = (g - cost) / regularization - np.log(cost.shape[1])
    top = h.max(1, keepdims=True)
    return -regularization * (np.log(np.exp(h - top).sum(1)) + top[:, 0])


def sinkhorn(cost, regularization, iterations=3000):
    """Value, dual value and plan, as slowly and plainly as can be."""
    g = np.zeros(cost.shape[1])
    for _ in range(iterations):
        f = softmin(cost, g, regularization)
        g = softmin(cost.T, f, regularization)
    plan = np.exp((f[:, None] + g - cost) / regularization) / cost.size
    return (plan * cost).sum(), f.mean() + g.mean(), plan


def l2sq(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def l1(x, y):
    return abs(x[:, None] - y[None]).sum(-1)


class Transport(InFolder):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(3)
        self.x, self.y = self.random.normal(size=(30, 7)), self.random.normal(0.4, 1.3, size=(24, 7))
        np.save("x.npy", self.x)
        np.save("y.npy", self.y)

    def solve(self, *options, x="x.npy", y="y.npy"):
        answer = json.loads(self.succeeds("transport", x, y, *options, "--json"))
        self.assertEqual(list(answer), KEYS)
        return answer

    def refuses(self, code, *options, x="x.npy", y="y.npy"):
        return self.fails(code, "transport", x, y, *options)


class Values(Transport):
    def test_of_every_cost_are_those_of_numpy(self):
        costs = {"l2sq": l2sq(self.x, self.y), "l1": l1(self.x, self.y),
                 "mixture:0.25": l2sq(self.x, self.y) + 0.25 * l1(self.x, self.y),
                 "lp:1.5": (abs(self.x[:, None] - self.y[None]) ** 1.5).sum(-1)}
        for name, cost in costs.items():
            value, dual, plan = sinkhorn(cost, 2.0)
            answer = self.solve("--cost", name, "--regularization", 2, "--tolerance", "1e-12",
                                "--plan", "p.npy")
            self.assertAlmostEqual(answer["value"] / value, 1, delta=1e-9)
            self.assertAlmostEqual(answer["dual"] / dual, 1, delta=1e-9)
            self.assertTrue(answer["converged"])
            self.assertLessEqual(answer["marginal_error"], 1e-12)
            np.testing.assert_allclose(np.load("p.npy"), plan, atol=1e-12)

    def test_squared_distances_are_the_default_cost(self):
        self.assertEqual(self.solve("--regularization", 2)["value"],
                         self.solve("--regularization", 2, "--cost", "l2sq")["value"])

    @unittest.skipIf(ot is None, "needs POT (python3-pot)")
    def test_are_those_of_pot(self):
        cost = ot.dist(self.x, self.y)
        uniform = np.full(30, 1 / 30), np.full(24, 1 / 24)
        expected = ot.sinkhorn2(*uniform, cost, 1.5, method="sinkhorn_log", stopThr=1e-13,
                                numItermax=100000)
        answer = self.solve("--regularization", 1.5, "--tolerance", "1e-11")
        self.assertAlmostEqual(answer["value"] / expected.item(), 1, delta=1e-8)
        exact = self.solve("--exact")
        self.assertAlmostEqual(exact["value"] / ot.emd2(*uniform, cost), 1, delta=1e-12)

    def test_of_the_divergence_are_those_of_numpy_and_zero_between_equal_sets(self):
        expected = (2 * sinkhorn(l2sq(self.x, self.y), 2.0)[1] - sinkhorn(l2sq(self.x, self.x), 2.0)[1]
                    - sinkhorn(l2sq(self.y, self.y), 2.0)[1])
        answer = self.solve("--regularization", 2, "--debiased", "--tolerance", "1e-11")
        self.assertAlmostEqual(answer["value"] / expected, 1, delta=1e-8)
        self.assertEqual(answer["dual"], answer["value"])
        self.assertTrue(answer["converged"])
        same = self.solve("--regularization", 2, "--debiased", "--tolerance", "1e-11", y="x.npy")
        self.assertAlmostEqual(same["value"], 0, delta=1e-9)

    def test_the_divergence_reports_the_worst_of_its_three_problems(self):
        options = "--regularization", 0.05, "--max-iterations", 7
        whole, part = self.solve(*options, "--debiased"), self.solve(*options)
        self.assertFalse(whole["converged"])
        self.assertEqual(whole["iterations"], 7)
        self.assertGreaterEqual(whole["marginal_error"], part["marginal_error"])

    @unittest.skipIf(linear_sum_assignment is None, "needs SciPy (python3-scipy)")
    def test_exact_ones_are_those_of_scipy_with_a_plan_that_pays_them(self):
        np.save("z.npy", self.x[::-1] ** 2)
        cost = l2sq(self.x, self.x[::-1] ** 2)
        rows, columns = linear_sum_assignment(cost)
        answer = self.solve("--exact", "--plan", "p.npy", y="z.npy")
        self.assertAlmostEqual(answer["value"] / cost[rows, columns].mean(), 1, delta=1e-12)
        self.assertAlmostEqual(answer["dual"] / answer["value"], 1, delta=1e-9)
        plan = np.load("p.npy")
        self.assertEqual(plan.shape, (30, 30))
        np.testing.assert_allclose(plan[rows, columns], 1 / 30)
        self.assertEqual(np.count_nonzero(plan), 30)

    def test_approach_the_exact_one_as_regularization_falls(self):
        exact = self.solve("--exact")["value"]
        near = self.solve("--regularization", 0.02, "--max-iterations", 10**6)
        self.assertLess(exact, near["value"])
        self.assertAlmostEqual(near["value"] / exact, 1, delta=1e-3)

    def test_annealing_is_fast_and_says_that_it_has_not_converged(self):
        result = obol("transport", "x.npy", "y.npy", "--regularization", 0.1, "--annealed", "--json")
        answer = json.loads(result.stdout)
        self.assertEqual(result.returncode, 0)
        self.assertFalse(answer["converged"])
        self.assertLess(answer["iterations"], 20)
        self.assertRegex(result.stderr, r"\Aobol: warning: the marginals must be met [^\n]+--annealed[^\n]+\n\Z")
        self.assertAlmostEqual(answer["value"] / self.solve("--exact")["value"], 1, delta=0.1)


class Labels(Transport):
    def setUp(self):
        super().setUp()
        self.lx, self.ly = np.arange(30) % 3, np.arange(24) % 3
        np.save("lx.npy", self.lx)
        np.save("ly.npy", self.ly.astype(np.uint8))
        self.files = "--labels-x", "lx.npy", "--labels-y", "ly.npy"

    def test_weigh_as_one_hot_coordinates(self):
        differ = self.lx[:, None] != self.ly
        for name, ground, penalty, options in (("l2sq", l2sq, 2 * 15**2, []),
                                               ("l2sq", l2sq, 0.5, ["--label-weight", 0.5]),
                                               ("l1", l1, 1, ["--label-weight", 0.5])):
            cost = ground(self.x, self.y) + penalty * differ
            answer = self.solve("--cost", name, "--regularization", 3, "--tolerance", "1e-12",
                                *self.files, *options)
            self.assertAlmostEqual(answer["value"] / sinkhorn(cost, 3.0)[0], 1, delta=1e-8)

    def test_of_infinite_weight_separate_classes(self):
        answer = self.solve("--regularization", 3, *self.files, "--label-weight", "inf", "--plan", "p.npy",
                            "--tolerance", "1e-12")
        parts = [sinkhorn(l2sq(self.x[self.lx == k], self.y[self.ly == k]), 3.0) for k in range(3)]
        self.assertAlmostEqual(answer["value"] / np.mean([p[0] for p in parts]), 1, delta=1e-8)
        plan = np.load("p.npy")
        self.assertEqual(plan[self.lx[:, None] != self.ly].max(), 0)
        np.testing.assert_allclose(plan[np.ix_(self.lx == 1, self.ly == 1)], parts[1][2] / 3, atol=1e-10)

    def test_go_with_the_exact_solver_and_the_divergence(self):
        exact = self.solve("--exact", *self.files, "--plan", "p.npy")
        plan = np.load("p.npy")
        self.assertEqual(plan[self.lx[:, None] != self.ly].max(), 0)
        self.assertAlmostEqual((plan * l2sq(self.x, self.y)).sum() / exact["value"], 1, delta=1e-12)
        np.save("lx.npy", self.lx)
        same = self.solve("--regularization", 3, "--debiased", "--labels-x", "lx.npy", "--labels-y",
                          "lx.npy", "--tolerance", "1e-11", y="x.npy")
        self.assertAlmostEqual(same["value"], 0, delta=1e-8)

    def test_are_refused_where_they_do_not_fit(self):
        self.assertIn("given together", self.refuses(2, "--regularization", 1, "--labels-x", "lx.npy"))
        self.assertIn("--labels-x", self.refuses(2, "--regularization", 1, "--label-weight", 3))
        self.assertIn("number or inf", self.refuses(2, "--exact", *self.files, "--label-weight", "much"))
        self.assertIn("label_weight", self.refuses(2, "--exact", *self.files, "--label-weight", "-1"))
        self.assertIn("finite in exact", self.refuses(2, "--exact", *self.files, "--label-weight", "inf"))
        np.save("lx.npy", np.arange(29))
        self.assertIn("labels_x", self.refuses(2, "--exact", *self.files))
        np.save("lx.npy", np.arange(30) + 0.5)
        self.assertIn("lx.npy", self.refuses(3, "--exact", *self.files))


class Files(Transport):
    def test_of_any_layout_mean_the_same_points(self):
        expected = self.solve("--regularization", 2)
        np.save("big.npy", self.x.astype(">f8"))
        np.save("fortran.npy", np.asfortranarray(self.x))
        np.save("deep.npy", np.pad(self.x, ((0, 0), (0, 1))).reshape(30, 2, 2, 2))
        np.save("wide.npy", np.pad(self.y, ((0, 0), (0, 1))))
        for x, y in (("big.npy", "y.npy"), ("fortran.npy", "y.npy"), ("deep.npy", "wide.npy")):
            answer = self.solve("--regularization", 2, x=x, y=y)
            self.assertAlmostEqual(answer["value"] / expected["value"], 1, delta=1e-13)

    def test_say_in_which_precision_to_compute_and_write(self):
        wide = self.solve("--regularization", 2, "--plan", "p8.npy")
        for name, points in (("x4.npy", self.x), ("y4.npy", self.y)):
            np.save(name, points.astype(np.float32))
        narrow = self.solve("--regularization", 2, "--plan", "p4.npy", x="x4.npy", y="y4.npy")
        self.assertEqual((np.load("p8.npy").dtype, np.load("p4.npy").dtype), (np.float64, np.float32))
        self.assertNotEqual(narrow["value"], wide["value"])
        self.assertAlmostEqual(narrow["value"] / wide["value"], 1, delta=1e-5)
        self.solve("--exact", "--plan", "p4.npy", x="x4.npy", y="y4.npy")
        self.assertEqual(np.load("p4.npy").dtype, np.float32)
        self.assertIn("float64, as of x.npy, but is float32", self.refuses(3, "--exact", y="y4.npy"))

    def test_of_other_types_are_refused_with_what_to_do(self):
        for kind in (np.uint8, np.int64, bool):
            np.save("z.npy", np.ones((4, 7), kind))
            message = self.refuses(3, "--exact", x="z.npy")
            self.assertIn("astype('float32')", message)
            self.assertIn("z.npy", message)
        np.save("z.npy", np.ones((4, 7), np.float16))
        self.assertIn("z.npy", self.refuses(3, "--exact", y="z.npy"))
        (self.folder / "z.npy").write_bytes(b"not an array")
        self.assertIn("z.npy", self.refuses(3, "--exact", x="z.npy"))
        self.assertIn("none.npy", self.refuses(3, "--exact", x="none.npy"))

    def test_with_numbers_that_are_none_are_named_with_the_place(self):
        self.x[3, 5] = np.nan
        np.save("bad.npy", self.x)
        message = self.refuses(2, "--exact", x="bad.npy")
        self.assertIn("x[3, 5] must be finite", message)
        self.assertIn("x is bad.npy", message)
        self.x[3, 5] = np.inf
        np.save("bad.npy", self.x)
        self.assertIn("y[3, 5] must be finite", self.refuses(2, "--regularization", 1, y="bad.npy"))

    def test_of_unfitting_shapes_are_refused(self):
        np.save("z.npy", np.ones((4, 3)))
        self.assertIn("coordinates", self.refuses(2, "--exact", y="z.npy"))
        np.save("z.npy", np.ones(4))
        self.assertIn("[points, coordinates]", self.refuses(2, "--exact", y="z.npy"))
        np.save("z.npy", np.ones((0, 7)))
        self.assertIn("at least one point", self.refuses(2, "--exact", y="z.npy"))
        np.save("z.npy", np.float64(3))
        self.assertIn("[points, coordinates]", self.refuses(2, "--exact", x="z.npy"))

    def test_beyond_the_memory_are_refused_in_a_sentence(self):
        np.save("huge.npy", np.zeros((2_000_000, 1), np.float32))
        message = self.refuses(2, "--regularization", 1, x="huge.npy", y="huge.npy")
        self.assertIn("the memory for 2000000 x 2000000 costs", message)

    def test_of_plans_appear_only_when_whole(self):
        self.refuses(2, "--regularization", -1, "--plan", "p.npy")
        self.assertFalse((self.folder / "p.npy").exists())
        self.assertIn("nowhere", self.refuses(3, "--exact", "--plan", "nowhere/p.npy"))


class Words(Transport):
    def test_people_get_a_few_lines(self):
        text = self.succeeds("transport", "x.npy", "y.npy", "--regularization", 2, "--plan", "p.npy")
        self.assertRegex(text, r"\A30 points to 24, 7 coordinates in float64, cost l2sq\n"
                               r"value [\d.]+ \(dual [\d.]+\)\n"
                               r"converged after \d+ iterations, in [^\n]+\nthe plan is in p.npy\n\Z")
        text = self.succeeds("transport", "x.npy", "y.npy", "--regularization", 2, "--debiased")
        self.assertRegex(text, r"\ndivergence [\d.]+\n")

    def test_what_has_not_converged_is_told_with_advice_and_is_no_error(self):
        result = obol("transport", "x.npy", "y.npy", "--regularization", 0.01, "--max-iterations", 3)
        self.assertEqual(result.returncode, 0)
        self.assertIn("not converged after 3 iterations", result.stdout)
        self.assertRegex(result.stderr, r"\Aobol: warning: [^\n]+ raise --max-iterations[^\n]+\n\Z")
        answer = self.solve("--regularization", 0.01, "--max-iterations", 3)
        self.assertEqual((answer["converged"], answer["iterations"]), (False, 3))
        self.assertGreater(answer["marginal_error"], 1e-6)

    def test_the_tolerance_is_kept_and_a_tighter_one_takes_longer(self):
        loose = self.solve("--regularization", 1, "--tolerance", 0.01)
        tight = self.solve("--regularization", 1, "--tolerance", 1e-9)
        self.assertLessEqual(loose["marginal_error"], 0.01)
        self.assertLessEqual(tight["marginal_error"], 1e-9)
        self.assertLess(loose["iterations"], tight["iterations"])

    def test_options_that_cannot_be_meant_are_refused(self):
        self.assertIn("--regularization must be given", self.refuses(2))
        for bad in (0, -1):
            self.assertIn("regularization must be finite and positive", self.refuses(2, "--regularization", bad))
        self.assertIn("a number", self.refuses(2, "--regularization", "nan"))
        self.assertIn("--debiased must not be given with --exact", self.refuses(2, "--exact", "--debiased"))
        self.assertIn("--annealed must not be given with --exact", self.refuses(2, "--exact", "--annealed"))
        for bad in ("l3", "mixture", "mixture:-1", "lp:0.5", "lp:x", ""):
            self.assertIn("cost", self.refuses(2, "--regularization", 1, "--cost", bad))
        self.assertIn("tolerance", self.refuses(2, "--regularization", 1, "--tolerance", -1))
        self.assertIn("max_iterations", self.refuses(2, "--regularization", 1, "--max-iterations", 0))
        self.assertIn("whole number", self.refuses(2, "--regularization", 1, "--max-iterations", 1.5))
        self.assertIn("--device", self.refuses(2, "--exact", "--device", "tpu"))
        self.assertIn("Did you mean --annealed?", self.refuses(2, "--exact", "--anealed"))
        self.fails(2, "transport", "x.npy")

    def test_a_gpu_is_used_or_refused_in_a_sentence(self):
        if json.loads(self.succeeds("doctor", "--json"))["tensors"]["libtorch_has_cuda"]:
            self.skipTest("LibTorch has a GPU here")
        self.assertIn("must have a GPU", self.refuses(2, "--exact", "--device", "cuda"))

    def test_completion_offers_the_options(self):
        script = self.succeeds("completion", "bash")
        line = next(line for line in script.splitlines() if '"obol transport")' in line)
        for option in ("--cost", "--regularization", "--labels-x", "--plan", "--device"):
            self.assertIn(option, line)


class Interruption(Transport):
    def interrupted(self, *options):
        points = self.random.normal(size=(3000, 30))
        np.save("big.npy", points)
        np.save("other.npy", points[::-1] ** 2)
        process = subprocess.Popen([OBOL, "transport", "big.npy", "other.npy", "--plan", "p.npy", *options],
                                   stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with open(f"/proc/{process.pid}/maps") as maps:
            deadline = time.monotonic() + 60
            while "libobol_tensor" not in maps.read() and time.monotonic() < deadline:
                time.sleep(0.05)
                maps.seek(0)
        time.sleep(1)
        self.assertIsNone(process.poll(), "it ended before it could be interrupted")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("interrupted", errors)
        self.assertEqual([p.name for p in self.folder.glob("*p.npy*")], [])

    def test_ends_an_entropic_problem(self):
        self.interrupted("--regularization", "1e-3", "--max-iterations", "1000000")

    def test_ends_an_exact_problem(self):
        self.interrupted("--exact")


if __name__ == "__main__":
    unittest.main()
