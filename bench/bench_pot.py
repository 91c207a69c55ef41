"""bench_pot N DIMENSION ITERATIONS FOLDER: POT's entropic transport in double, from points to value and
plan. Leaves the points in the folder; prints JSON. By the system's Python, which sees its packages."""
import json
import os
import sys
import time
import warnings

import numpy as np
import ot

n, dimension, iterations = map(int, sys.argv[1:4])
random = np.random.default_rng(1)
x, y = random.normal(size=(n, dimension)), random.normal(size=(n, dimension)) + 0.1
np.save(f"{sys.argv[4]}/x.npy", x)
np.save(f"{sys.argv[4]}/y.npy", y)
weights = np.full(n, 1 / n)
regularization = float(0.01 * ot.dist(x, y).mean())
warnings.simplefilter("ignore")  # that so many iterations may not suffice

# As bench/clock.h has it.
now = time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter
times = []
while len(times) < 4 or (sum(times) < 1 and len(times) < 1000):
    start = now()
    cost = ot.dist(x, y)
    plan = ot.sinkhorn(weights, weights, cost, regularization, method="sinkhorn_log",
                       numItermax=iterations, stopThr=0)
    value = (plan * cost).sum()
    times.append(now() - start)
print(json.dumps({"seconds": min(times[1:]), "value": value, "regularization": regularization,
                  "version": ot.__version__}))
