"""obol federate, as users would: certificates, a server, clients; some of them killed on the way."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import numpy

from support import OBOL
from training import declare, obol

RECIPE = """
[data]
source = "elsewhere"

[privacy]
barrier = "batch"
shards = {clients}
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

# Speaks TLS to a server as whoever the certificate says, or nobody; prints the server's first byte.
STRANGER = """
import socket, ssl, sys
host, port, ca, *own = sys.argv[1:]
context = ssl.create_default_context(cafile=ca)
context.set_alpn_protocols(["h2"])
if own:
    context.load_cert_chain(*own)
with context.wrap_socket(socket.create_connection((host, int(port)), timeout=20), server_hostname=host) as server:
    server.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes.fromhex("000000040000000000"))
    print(len(server.recv(1)))
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
class WithShards(unittest.TestCase):
    """Shards and certificates in a folder, and processes that end with the test."""
    clients = 2
    host = "127.0.0.1"

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        for number in range(1, self.clients + 1):
            self.write_shard(f"shard-{number}", classes=3)
        obol("federate", "certs", "--out", self.folder / "certs", "--clients", self.clients, "--days", 2,
             "--host", self.host)
        self.port = free_port()
        self.server = f"{self.host}:{self.port}"
        self.started = []
        self.addCleanup(self.end_all)

    def write_shard(self, name, classes, labels=None):
        random = numpy.random.default_rng(1)
        path = self.folder / f"{name}.npz"
        numpy.savez(path, x_train=random.integers(0, 255, (30, 8, 8), dtype=numpy.uint8),
                    y_train=numpy.arange(30) % classes if labels is None else labels)
        declare(path, f"classes = {classes}")

    def end_all(self):
        for child in self.started:
            if child.poll() is None:
                child.kill()
            child.communicate()

    def inside(self, who):
        """What to write before a command so that it runs where `who` is."""
        return ()

    def start(self, who, *arguments):
        # On one thread: several at once would wait for each other.
        child = subprocess.Popen([*self.inside(who), OBOL, *map(str, arguments), "--threads", "1"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(child)
        return child

    def identity(self, name, certs="certs"):
        folder = self.folder / certs
        return "--ca", folder / "ca.pem", "--cert", folder / f"{name}.pem", "--key", folder / f"{name}.key"

    def serve(self, steps, *more):
        recipe = self.folder / "recipe.toml"
        recipe.write_text(RECIPE.format(steps=steps, clients=self.clients))
        self.server_process = self.start(
            "server", "federate", "serve", recipe, "--listen", self.server, "--out", self.folder / "run",
            "--shape", "8x8", "--classes", 3, *self.identity("server"), *more)
        return self.server_process

    def join_arguments(self, number, *more, shard=None, out=None):
        return ("federate", "join", self.server, "--data", self.folder / f"{shard or f'shard-{number}'}.npz",
                "--out", self.folder / (out or f"client-{number}"), "--epsilon", 1000, "--delta", 1e-5,
                *self.identity(f"client-{number}"), *more)

    def join(self, number, *more):
        return self.start(f"client-{number}", *self.join_arguments(number, *more))

    def steps(self):
        metrics = self.folder / "run" / "metrics.jsonl"
        return len(metrics.read_text().splitlines()) if metrics.exists() else 0

    def wait_for_steps(self, count):
        deadline = time.monotonic() + 120
        while self.steps() < count and time.monotonic() < deadline:
            self.assertIsNone(self.server_process.poll(), "the server must run, but has ended")
            time.sleep(0.01)
        self.assertGreaterEqual(self.steps(), count)

    def kill(self, child):
        self.assertIsNone(child.poll(), "killed in time")
        child.kill()
        child.communicate()

    def kill_and_go_on(self, steps, victims):
        """A training in which these clients and the server are killed; all is there in the end."""
        server = self.serve(steps)
        # Those who stay answer for those who are gone: more than their share is planned.
        clients = {number: self.join(number, "--answers", steps)
                   for number in range(1, self.clients + 1)}
        self.wait_for_steps(30)
        for number in victims:
            self.kill(clients[number])
        before = {number: paid(self.folder / f"client-{number}") for number in victims}
        if len(victims) < self.clients - 1:
            self.wait_for_steps(60)  # without them
        for number in victims:
            clients[number] = self.join(number, "--answers", steps)
        self.wait_for_steps(90)
        self.kill(server)
        server = self.serve(steps, "--resume")
        said, err = server.communicate(timeout=240)
        self.assertEqual(server.returncode, 0, err)
        self.assertIn(f"finished {steps} steps", said)
        record = json.loads((self.folder / "run" / "federated.json").read_text())["clients"]
        self.assertEqual([client["name"] for client in record],
                         [f"client-{number}" for number in range(1, self.clients + 1)])
        self.assertGreaterEqual(sum(client["answers"] for client in record), steps)
        for number, client in clients.items():
            said, err = client.communicate(timeout=60)
            self.assertEqual(client.returncode, 0, err)
            folder = self.folder / f"client-{number}"
            taken = record[number - 1]["answers"]
            self.assertGreaterEqual(paid(folder), taken)
            self.assertGreater(paid(folder), before.get(number, 0), "a client that came back is asked")
            self.assertIn(f"after {paid(folder)} answers: epsilon", said)
            obol("verify", folder)
            self.assertEqual((folder / "private").stat().st_mode & 0o777, 0o700)
        obol("sample", self.folder / "run", "--count", 5, "--out", self.folder / "samples.npz")


class Federate(WithShards):
    def test_killed_servers_and_clients_come_back_and_nothing_is_counted_too_little(self):
        self.kill_and_go_on(400, victims=[1])

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

    def test_interrupted_before_anybody_came_a_server_stops_cleanly(self):
        server = self.serve(5)
        for line in server.stderr:
            if "waiting for 2 clients" in line:
                break
        server.send_signal(signal.SIGINT)
        said, err = server.communicate(timeout=60)
        self.assertEqual(server.returncode, 130, err)

    def refused(self, code, *arguments):
        """What a client says that cannot take part; one sentence."""
        said = obol(*arguments, "--patience", 1, "--quiet", code=code).stderr
        self.assertRegex(said, r"\Aobol: error: [^\n]+\n\Z")
        return said

    def test_refusals_are_one_sentence(self):
        obol("federate", "certs", "--out", self.folder / "others", "--clients", 1)
        self.serve(5)
        wrong = self.refused(6, "federate", "join", self.server, "--data", self.folder / "shard-1.npz",
                             "--out", self.folder / "x", "--epsilon", 1, "--delta", 1e-5,
                             *self.identity("client-1", "others"))
        self.assertIn("accept this certificate", wrong)
        careful = self.refused(2, *self.join_arguments(1, "--least-noise", 6))
        self.assertIn("at least 6, as this client wants, but is 5 in", careful)
        self.write_shard("strange", classes=4)
        self.assertIn("the number of declared classes must be 3, as in the server's terms, but is 4",
                      self.refused(2, *self.join_arguments(1, shard="strange")))
        (self.folder / "strange.npz.declaration.toml").unlink()
        self.assertIn("data.classes must be declared",
                      self.refused(2, *self.join_arguments(1, shard="strange")))
        self.assertFalse((self.folder / "client-1").exists())

    def test_who_joins_tells_nothing_of_the_labels(self):
        # All of one class; beyond the classes that are declared; of none.
        self.write_shard("all-zero", classes=3, labels=numpy.zeros(30))
        strange = numpy.arange(30) % 3 + 0.0
        strange[4:7] = 9, -1, numpy.nan
        self.write_shard("beyond", classes=3, labels=strange)
        server = self.serve(6)
        clients = [self.start(f"client-{number}", *self.join_arguments(number, shard=shard))
                   for number, shard in ((1, "all-zero"), (2, "beyond"))]
        said, err = server.communicate(timeout=120)
        self.assertEqual(server.returncode, 0, err)
        for number, client in enumerate(clients, 1):
            said, err = client.communicate(timeout=60)
            self.assertEqual(client.returncode, 0, err)
            self.assertGreater(paid(self.folder / f"client-{number}"), 0)

    def test_one_name_is_one_client(self):
        self.serve(5)
        self.join(1)
        first = self.folder / "client-1" / "private" / "critics"
        deadline = time.monotonic() + 60
        while not first.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)  # from a warm critic to Hello
        said = self.refused(6, *self.join_arguments(1, shard="shard-2", out="twin"))
        self.assertIn("client-1 must be connected once, but is so already", said)

    def test_a_client_keeps_to_the_terms_of_its_folder(self):
        server = self.serve(6)
        clients = [self.join(number) for number in (1, 2)]
        server.communicate(timeout=60)
        for client in clients:
            client.communicate(timeout=60)
        shutil.rmtree(self.folder / "run")
        self.serve(6, "--set", "privacy.noise_multiplier=4")
        said = self.refused(2, *self.join_arguments(1))
        self.assertIn("noise_multiplier = 5", said)


class InNamespaces(WithShards):
    """Everyone in a network of its own, joined by a bridge."""
    clients = 8
    host = "10.77.0.1"

    def setUp(self):
        self.tool = shutil.which("ip", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        if self.tool is None or os.geteuid() != 0:
            self.skipTest("networks for a test need root and the program ip")
        try:
            self.lay_network()
        except subprocess.CalledProcessError as error:
            self.skipTest(f"no networks can be made here: {error.stderr}")
        super().setUp()

    def ip(self, *words):
        subprocess.run([self.tool, *words], check=True, capture_output=True, text=True)

    def space(self, who):
        return f"obol-{os.getpid()}-{who}"

    def add(self, who):
        self.ip("netns", "add", self.space(who))
        self.addCleanup(self.ip, "netns", "delete", self.space(who))
        self.ip("-n", self.space(who), "link", "set", "lo", "up")

    def lay_network(self):
        self.add("server")
        server = self.space("server")
        self.ip("-n", server, "link", "add", "bridge", "type", "bridge")
        self.ip("-n", server, "address", "add", f"{self.host}/24", "dev", "bridge")
        self.ip("-n", server, "link", "set", "bridge", "up")
        for number in range(1, self.clients + 1):
            self.add(f"client-{number}")
            client = self.space(f"client-{number}")
            self.ip("-n", server, "link", "add", f"to-{number}", "type", "veth", "peer", "name", "wire",
                    "netns", client)
            self.ip("-n", server, "link", "set", f"to-{number}", "master", "bridge", "up")
            self.ip("-n", client, "address", "add", f"10.77.0.{number + 1}/24", "dev", "wire")
            self.ip("-n", client, "link", "set", "wire", "up")

    def inside(self, who):
        return self.tool, "netns", "exec", self.space(who)

    def test_eight_clients_of_whom_two_are_killed_and_the_server(self):
        self.kill_and_go_on(400, victims=[3, 6])

    def stranger(self, *own):
        return subprocess.run([*self.inside("client-1"), sys.executable, "-c", STRANGER, self.host,
                               str(self.port), self.folder / "certs" / "ca.pem", *own],
                              capture_output=True, text=True, timeout=60)

    def test_who_has_no_valid_certificate_hears_nothing(self):
        certs = self.folder / "certs"
        obol("federate", "certs", "--out", self.folder / "others", "--clients", 1)
        # Of the right authority, but over since yesterday.
        subprocess.run(["openssl", "req", "-new", "-key", certs / "client-1.key", "-subj", "/CN=client-1",
                        "-out", self.folder / "request"], check=True, capture_output=True)
        subprocess.run(["openssl", "x509", "-req", "-in", self.folder / "request", "-CA", certs / "ca.pem",
                        "-CAkey", certs / "ca.key", "-days", "-1", "-out", self.folder / "expired.pem"],
                       check=True, capture_output=True)
        server = self.serve(5)
        for line in server.stderr:
            if "waiting for" in line:
                break
        for own in [(),
                    (self.folder / "others" / "client-1.pem", self.folder / "others" / "client-1.key"),
                    (self.folder / "expired.pem", certs / "client-1.key")]:
            self.assertNotEqual(self.stranger(*own).stdout, "1\n", own)
        answer = self.stranger(certs / "client-1.pem", certs / "client-1.key")
        self.assertEqual(answer.stdout, "1\n", answer.stderr)


if __name__ == "__main__":
    unittest.main()
