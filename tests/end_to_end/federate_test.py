"""obol federate, as users would: certificates, a server, clients; some of them killed on the way."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import numpy

from support import OBOL
from training import obol, start

RECIPE = """
[data]
source = "elsewhere"

[privacy]
barrier = "batch"
shards = 2
noise_multiplier = 5
steps = {steps}
generated_batch = 4
delta = 1e-5

[generator]
width = 2
latent = 2

[method]
name = "gs-wgan"
critic_width = 2
critic_steps = 2
warm_start = 2

[run]
sample_every = 0
checkpoint_every = 20
metrics_every = 1
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def paid(folder):
    total = 0
    for line in (folder / "ledger.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry["kind"] == "reserve":
            total += entry["event"]["count"]
    return total


@unittest.skipIf(os.environ.get("OBOL_HAS_FEDERATED") == "0", "built without gRPC")
class Federate(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        random = numpy.random.default_rng(1)
        for number in (1, 2):
            numpy.savez(self.folder / f"shard-{number}.npz",
                        x_train=random.integers(0, 255, (30, 8, 8), dtype=numpy.uint8),
                        y_train=numpy.arange(30) % 3)
        obol("federate", "certs", "--out", self.folder / "certs", "--clients", 2, "--days", 2)
        self.server = f"127.0.0.1:{free_port()}"
        self.started = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for child in self.started:
            if child.poll() is None:
                child.kill()
            child.communicate()

    def start(self, *arguments):
        self.started.append(start(*arguments))
        return self.started[-1]

    def identity(self, name, certs="certs"):
        folder = self.folder / certs
        return "--ca", folder / "ca.pem", "--cert", folder / f"{name}.pem", "--key", folder / f"{name}.key"

    def serve(self, steps, *more):
        recipe = self.folder / "recipe.toml"
        recipe.write_text(RECIPE.format(steps=steps))
        self.server_process = self.start(
            "federate", "serve", recipe, "--listen", self.server, "--out", self.folder / "run",
            "--shape", "8x8", "--classes", 3, *self.identity("server"), *more)
        return self.server_process

    def join_arguments(self, number, *more):
        return ("federate", "join", self.server, "--data", self.folder / f"shard-{number}.npz",
                "--out", self.folder / f"client-{number}", "--epsilon", 1000, "--delta", 1e-5,
                *self.identity(f"client-{number}"), *more)

    def join(self, number):
        return self.start(*self.join_arguments(number))

    def steps(self):
        metrics = self.folder / "run" / "metrics.jsonl"
        return len(metrics.read_text().splitlines()) if metrics.exists() else 0

    def wait_for_steps(self, count):
        deadline = time.monotonic() + 60
        while self.steps() < count and time.monotonic() < deadline:
            self.assertIsNone(self.server_process.poll(), "the server must run, but has ended")
            time.sleep(0.01)
        self.assertGreaterEqual(self.steps(), count)

    def test_killed_servers_and_clients_come_back_and_nothing_is_counted_too_little(self):
        steps = 400
        server = self.serve(steps)
        clients = {number: self.join(number) for number in (1, 2)}
        self.wait_for_steps(30)
        clients[1].kill()
        clients[1].communicate()
        clients[1] = self.join(1)
        self.wait_for_steps(90)
        server.kill()
        server.communicate()
        server = self.serve(steps, "--resume")
        said, err = server.communicate(timeout=120)
        self.assertEqual(server.returncode, 0, err)
        self.assertIn(f"finished {steps} steps", said)
        self.assertTrue((self.folder / "run" / "generator.pt").exists())
        record = json.loads((self.folder / "run" / "federated.json").read_text())
        self.assertEqual([client["name"] for client in record["clients"]], ["client-1", "client-2"])
        for number, client in clients.items():
            said, err = client.communicate(timeout=60)
            self.assertEqual(client.returncode, 0, err)
            folder = self.folder / f"client-{number}"
            taken = record["clients"][number - 1]["answers"]
            self.assertGreater(taken, 0)
            self.assertGreaterEqual(paid(folder), taken)
            self.assertIn(f"after {paid(folder)} answers: epsilon", said)
            obol("verify", folder)
            self.assertEqual((folder / "private").stat().st_mode & 0o777, 0o700)
        obol("sample", self.folder / "run", "--count", 5, "--out", self.folder / "samples.npz")

    def test_interrupted_both_sides_stop_cleanly(self):
        server = self.serve(100000)
        clients = [self.join(number) for number in (1, 2)]
        self.wait_for_steps(5)
        clients[0].send_signal(signal.SIGINT)
        said, err = clients[0].communicate(timeout=60)
        self.assertEqual(clients[0].returncode, 130, err)
        self.assertIn("the same command goes on", said)
        obol("verify", self.folder / "client-1")
        server.send_signal(signal.SIGINT)
        said, err = server.communicate(timeout=60)
        self.assertEqual(server.returncode, 130, err)
        self.assertIn("interrupted after step", said)

    def test_refusals_are_one_sentence(self):
        obol("federate", "certs", "--out", self.folder / "others", "--clients", 1)
        self.serve(5)
        wrong = subprocess.run(
            [OBOL, *map(str, ("federate", "join", self.server, "--data", self.folder / "shard-1.npz", "--out",
                              self.folder / "x", "--epsilon", 1, "--delta", 1e-5, "--patience", 2,
                              *self.identity("client-1", "others")))],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(wrong.returncode, 6, wrong.stderr)
        self.assertRegex(wrong.stderr, r"\Aobol: error: [^\n]*accept this certificate[^\n]+\n\Z")
        careful = obol(*self.join_arguments(1, "--least-noise", 6), code=2)
        self.assertRegex(careful.stderr,
                         r"\Aobol: error: [^\n]*at least 6, as this client wants, but is 5 in[^\n]+\n\Z")
        self.assertFalse((self.folder / "client-1").exists())


if __name__ == "__main__":
    unittest.main()
