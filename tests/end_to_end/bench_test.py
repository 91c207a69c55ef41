"""bench/run: one page, one file of JSON with the same rows, plots beside it. What it measures is not judged here."""
import json
import math
import os
import subprocess
import unittest
import xml.etree.ElementTree

from support import SOURCE, InFolder


class BenchRun(InFolder):
    def bench(self, *words):
        return subprocess.run([SOURCE / "bench" / "run", "--no-build", *words], text=True, capture_output=True,
                              timeout=600)

    def measured(self, *names):
        result = self.bench("--quick", "--json", "out/found.json", "--only", *names)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads((self.folder / "out" / "found.json").read_text()), result.stdout

    def check_rows(self, found, page):
        self.assertTrue(found["rows"])
        for row in found["rows"]:
            self.assertIn(f"| {row['what']} |", page)
            self.assertTrue(math.isfinite(row["ours"]) and row["ours"] > 0, row)
            for value, ratio in (("reference", "ratio"), ("floor", "of_floor")):
                self.assertEqual(row[value] is None, row[ratio] is None, row)
                if row[ratio] is not None:
                    self.assertTrue(math.isfinite(row[ratio]) and row[ratio] > 0, row)

    def test_rows_without_libtorch(self):
        found, page = self.measured("noise", "accounting")
        self.check_rows(found, page)
        self.assertTrue(page.startswith(f"# {found['machine']}"))
        self.assertIn(found["obol"], page)
        whats = [row["what"] for row in found["rows"]]
        self.assertTrue(any("fill_gaussian" in what for what in whats), whats)
        self.assertTrue(any("PLD" in what for what in whats), whats)
        for row in found["rows"]:
            better = row["ours"] / row["reference"] if row["reference"] else None
            self.assertEqual(row["ratio"], better)

    @unittest.skipUnless(os.environ["OBOL_HAS_TORCH"] == "1", "this build has no LibTorch")
    def test_a_step_its_parts_and_a_curve(self):
        found, page = self.measured("row", "growth-records")
        self.check_rows(found, page)
        step = found["rows"][0]
        self.assertEqual((step["unit"], step["reference_is"]), ("steps/s", "eager LibTorch"))
        self.assertGreater(step["gflop"], 1)
        parts = [part["part"] for part in found["parts"]]
        self.assertIn("generator, both ways", parts)
        self.assertIn("barrier: clip, pay, noise", parts)
        curve = found["curves"][0]
        self.assertEqual([size for size, _ in curve["points"]], [1000, 10000, 100000])
        self.assertTrue(math.isfinite(curve["exponent"]))
        plot = xml.etree.ElementTree.parse(self.folder / "out" / curve["plot"])
        self.assertTrue(plot.getroot().tag.endswith("svg"))
        self.assertIn(f"[plot]({curve['plot']})", page)

    def test_an_unknown_name_is_refused(self):
        result = self.bench("--only", "speed")
        self.assertEqual(result.returncode, 2)
        self.assertIn("growth-records", result.stderr)


if __name__ == "__main__":
    unittest.main()
