"""What can be learnt from whether someone takes part.

Attacked: a federated client that joins or does not by what its records are, so that a server reads the largest label,
or an extreme value, of a shard from who comes, before anything was paid for.

What must hold: with the same declaration a client takes part whatever its labels and values are, with the same exit
code and the same files outside private/; without a declaration it refuses in the same words whatever they are. No
assertion is statistical.
"""
import os
import re
import unittest

import numpy

from attack import public_files, write_declaration
from federate_test import WithShards, free_port

COUNT = 30


class Consent(WithShards):
    def setUp(self):
        self.kept = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(self.kept)))
        super().setUp()
        os.environ.update(HOME=str(self.folder), OMP_NUM_THREADS="1")
        for number in range(1, self.clients + 1):
            write_declaration(self.folder / f"shard-{number}.npz", "bytes", classes=3)

    def write_own(self, kind):
        """The records of the second client: three classes, and for numbers a range from 0 to 1."""
        random = numpy.random.default_rng(2)
        labels = numpy.arange(COUNT) % 3
        images = random.random((COUNT, 8, 8)).astype(numpy.float32).round()
        if kind == "large label":
            labels[5] = 4
        elif kind == "one label":
            labels[:] = 0
        elif kind == "above":
            images[5, 0, 0] = 2
        elif kind == "not a number":
            images[5, 0, 0] = numpy.nan
        path = self.folder / f"{kind.replace(' ', '-')}.npz"
        numpy.savez(path, x_train=images, y_train=labels)
        return path

    def session(self, kind, is_declared):
        """Exit codes of client and server, what the client said, and the files that it has."""
        path = self.write_own(kind)
        if is_declared:
            write_declaration(path, "npz", classes=3)
        name = f"{path.stem}-{is_declared}"
        os.environ["OBOL_LEDGERS"] = str(self.folder / f"ledgers-{name}")  # what was paid before is nobody's here
        self.port = free_port()
        self.server = f"{self.host}:{self.port}"
        self.folder.joinpath("run").exists() and os.rename(self.folder / "run", self.folder / f"run-{name}")
        server = self.serve(4)
        first = self.start("client-1", *self.join_arguments(1, out=f"first-{name}"))
        client = self.start("client-2", *self.join_arguments(2, "--patience", 20, shard=path.stem, out=name))
        said, errors = client.communicate(timeout=90)
        if client.returncode == 0:
            server.communicate(timeout=90)
            first.communicate(timeout=90)
        for process in (server, first):
            if process.poll() is None:
                process.kill()
            process.communicate()
        last = errors.splitlines()[-1] if client.returncode else ""
        last = re.sub(r"\S*/", "", last.replace(name, "NAME").replace(path.stem, "NAME"))
        folder = self.folder / name
        files = [str(path.relative_to(folder)) for path in public_files(folder)] if folder.exists() else []
        return client.returncode, server.returncode if client.returncode == 0 else None, last, files

    def test_who_comes_does_not_depend_on_the_records(self):
        taken = False
        for is_declared in (False, True):
            usual = self.session("usual", is_declared)
            taken = taken or usual[0] == 0
            for kind in ("large label", "one label", "above", "not a number"):
                with self.subTest(kind=kind, is_declared=is_declared):
                    self.assertEqual(self.session(kind, is_declared), usual)
        self.assertTrue(taken, usual)


if __name__ == "__main__":
    unittest.main()
