"""The solvers against others: exact ones against SciPy's linear_sum_assignment and linprog and POT's
ot.emd, the entropic one against POT's ot.sinkhorn."""
import os
import pathlib
import subprocess
import unittest

try:
    import numpy as np
    import scipy.optimize
except ImportError:
    np = None
try:
    import ot
except ImportError:
    ot = None

SOLVE = pathlib.Path(os.environ["BUILD"]) / "bin" / "transport_solve"


def solve(cost, a, b, solver="automatic"):
    numbers = [*a, *b, *cost.ravel()]
    text = f"{solver} {len(a)} {len(b)}\n" + " ".join(repr(float(x)) for x in numbers)
    done = subprocess.run([SOLVE], input=text, text=True, capture_output=True, timeout=120, check=True)
    first, potentials, *entries = done.stdout.splitlines()
    value, gap, converged = first.split()
    plan = np.zeros(cost.shape)
    for entry in entries:
        row, column, mass = entry.split()
        plan[int(row), int(column)] = float(mass)
    potentials = np.array(potentials.split(), float)
    return float(value), float(gap), converged == "1", plan, potentials[:len(a)], potentials[len(a):]


def squared_distances(random, n, m, dimension):
    x, y = random.normal(size=(n, dimension)), random.normal(0.3, 1.2, size=(m, dimension))
    return ((x[:, None] - y[None]) ** 2).sum(-1)


@unittest.skipIf(np is None, "needs NumPy and SciPy (python3-scipy)")
class Exact(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(5)

    def costs(self, n, m):
        yield squared_distances(self.random, n, m, 2)
        yield squared_distances(self.random, n, m, 50)
        yield self.random.uniform(-1, 1, (n, m))
        yield 1e12 * self.random.uniform(-1, 1, (n, m))
        yield self.random.integers(0, 6, (n, m)).astype(float)

    def weights(self, n, m):
        yield np.full(n, 1 / n), np.full(m, 1 / m)
        yield self.random.dirichlet(np.ones(n)), self.random.dirichlet(np.ones(m))
        a, b = self.random.dirichlet(np.ones(n)), self.random.dirichlet(np.ones(m))
        a[1::3], b[1::2] = 0, 0
        yield a / a.sum(), b / b.sum()

    def check(self, cost, a, b, expected, solver="automatic"):
        value, gap, converged, plan, f, g = solve(cost, a, b, solver)
        scale = (plan * abs(cost)).sum() + 1e-6 * abs(cost).max()
        self.assertTrue(converged)
        self.assertAlmostEqual(value / scale, expected / scale, delta=1e-9)
        self.assertAlmostEqual(gap / scale, 0, delta=1e-9)
        self.assertAlmostEqual((a @ f + b @ g) / scale, expected / scale, delta=1e-9)
        np.testing.assert_allclose(plan.sum(1), a, atol=1e-14)
        np.testing.assert_allclose(plan.sum(0), b, atol=1e-14)
        return plan

    def test_assignments_cost_what_scipy_says(self):
        for n in (1, 2, 17, 120):
            for cost in self.costs(n, n):
                rows, columns = scipy.optimize.linear_sum_assignment(cost)
                uniform = np.full(n, 1 / n)
                for solver in ("automatic", "simplex"):
                    self.check(cost, uniform, uniform, cost[rows, columns].mean(), solver)

    def test_plans_cost_what_linear_programming_says(self):
        for n, m in ((1, 5), (6, 1), (9, 9), (12, 7)):
            for cost in self.costs(n, m):
                for a, b in self.weights(n, m):
                    marginals = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
                    scale = abs(cost).max()
                    best = scipy.optimize.linprog(cost.ravel() / scale, A_eq=marginals[:-1],
                                                  b_eq=np.concatenate([a, b])[:-1], method="highs")
                    self.check(cost, a, b, best.fun * scale)

    @unittest.skipIf(ot is None, "needs POT (python3-pot)")
    def test_plans_cost_what_pot_says(self):
        for n, m in ((1, 9), (30, 30), (80, 45), (20, 150)):
            for cost in self.costs(n, m):
                for a, b in self.weights(n, m):
                    expected = ot.emd(a, b, cost, numItermax=10**7)
                    self.check(cost, a, b, (expected * cost).sum())

    @unittest.skipIf(ot is None, "needs POT (python3-pot)")
    def test_plans_are_those_of_pot_where_only_one_is_best(self):
        a, b = self.random.dirichlet(np.ones(60)), self.random.dirichlet(np.ones(50))
        cost = squared_distances(self.random, 60, 50, 3)
        plan = self.check(cost, a, b, (ot.emd(a, b, cost) * cost).sum())
        np.testing.assert_allclose(plan, ot.emd(a, b, cost), atol=1e-12)


PROBLEMS = 400


@unittest.skipIf(np is None, "needs NumPy and SciPy (python3-scipy)")
@unittest.skipIf(ot is None, "needs POT (python3-pot)")
class Entropic(unittest.TestCase):
    GROUND = {
        "l2sq": lambda differences: (differences ** 2).sum(-1),
        "l1": lambda differences: abs(differences).sum(-1),
        "mixture": lambda differences: (differences ** 2 + 0.3 * abs(differences)).sum(-1),
        "lp": lambda differences: (abs(differences) ** 1.5).sum(-1),
    }

    def weights(self, random, n):
        """Uniform half of the time."""
        drawn = random.dirichlet(np.full(n, 3.0)) + 1e-4 / n
        return np.full(n, 1 / n) if random.integers(2) else drawn / drawn.sum()

    def problem(self, random):
        n, m = random.integers(1, 48, 2)
        d = int(10 ** random.uniform(0, 2.5))
        ground = random.choice(list(self.GROUND))
        x, y = random.normal(size=(n, d)), random.normal(0.5, 1.5, size=(m, d))
        cost = self.GROUND[ground](x[:, None] - y[None])
        return ground, cost, self.weights(random, n), self.weights(random, m)

    def check(self, cost, a, b, regularization):
        """The largest relative differences of value, plan and potentials."""
        value, dual, converged, plan, f, g = solve(cost, a, b, f"entropic {regularization!r} 1e-11")
        self.assertTrue(converged)
        expected, log = ot.sinkhorn(a, b, cost, regularization, method="sinkhorn_log", stopThr=1e-13,
                                    numItermax=1_000_000, log=True)
        # POT penalises the negative entropy, which only adds a constant to KL(P || a x b).
        their_f = regularization * (log["log_u"] - np.log(a))
        their_g = regularization * (log["log_v"] - np.log(b))
        shift = (their_f - f).mean()
        scale = abs(cost).max()
        divergence = (expected * np.log(expected / np.outer(a, b), where=expected > 0,
                                        out=np.zeros_like(expected))).sum()
        their_value = (expected * cost).sum()
        their_dual = their_value + regularization * divergence
        return {"value": abs(value - their_value) / their_value,
                "dual": abs(dual - their_dual) / abs(their_dual),
                "plan": abs(plan - expected).max() / expected.max(),
                "f": abs(f + shift - their_f).max() / scale,
                "g": abs(g - shift - their_g).max() / scale}

    def test_agrees_with_pot_to_1e_6_on_many_random_problems(self):
        random = np.random.default_rng(11)
        worst = {}
        for index in range(PROBLEMS):
            ground, cost, a, b = self.problem(random)
            regularization = float(cost.mean() * 10 ** random.uniform(-1.8, 0.7))
            for name, error in self.check(cost, a, b, regularization).items():
                self.assertLess(error, 1e-6, f"{name} of problem {index}: {cost.shape}, {ground}, "
                                             f"regularization {regularization}")
                worst[name] = max(worst.get(name, 0), error)
        print(f"{PROBLEMS} entropic problems agree with POT; largest relative differences: " +
              ", ".join(f"{name} {error:.1e}" for name, error in worst.items()))


if __name__ == "__main__":
    unittest.main()
