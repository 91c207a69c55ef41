"""obol report and compare, and what a real browser makes of the pages."""
import hashlib
import json
import os
import pathlib
import re
import struct
import unittest
import zlib

import browser
from support import InFolder

RECIPE = """title = "{title}"
summary = "Squares of two sizes."

[data]
source = "{data}"

[privacy]
barrier = "record"
steps = 400
epsilon = 3.0
delta = 1e-05

[method]
name = "dp-sinkhorn"
"""
CLASSES = [str(label) for label in range(10)]
ATTACK = "</title></pre><script>document.title='broken'</script><img src=http://example.org/x onerror=alert(1)>"


def chained(entries):
    """Lines of a ledger, each with the hash of all before."""
    lines, before = [], ""
    for number, entry in enumerate(entries):
        text = json.dumps({"kind": entry.pop("kind"), "sequence": number,
                           "time": f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z", **entry},
                          separators=(",", ":"))[:-1]
        before = hashlib.sha256((before + text).encode()).hexdigest()
        lines.append(f'{text},"hash":"{before}"}}\n')
    return "".join(lines)


def ledger(blocks):
    event = {"mechanism": "Gaussian", "noise_multiplier": 40, "count": 40}
    opened = {"kind": "open", "format": "obol-ledger", "version": 1, "neighbours": "add-remove",
              "records": 60000, "fingerprint": "hmac-sha256:0123", "randomness": "secure (OpenSSL)",
              "software": "0.1.0", "commit": "unknown"}
    return chained([opened] + [{"kind": "reserve", "purpose": "training", "event": event}
                               for _ in range(blocks)])


def png(width, height, pixel):
    rows = b"".join(b"\0" + bytes(pixel(x, y) for x in range(width)) for y in range(height))
    def chunk(kind, content):
        return (struct.pack(">I", len(content)) + kind + content +
                struct.pack(">I", zlib.crc32(kind + content)))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def evaluation(cnn=0.951):
    confusion = [[round(1000 * cnn) if i == j else 0 for j in range(10)] for i in range(10)]
    for i in range(10):
        confusion[i][(i + 1) % 10] = 1000 - confusion[i][i] - 2 * i
        confusion[i][(i + 3) % 10] = 2 * i
    def scores(accuracy):
        return {"accuracy": accuracy, "standard_deviation": 0.002, "accuracies": [accuracy],
                "on_real": 0.991, "calibrated": accuracy / 0.991, "confusion": confusion,
                "per_class": [accuracy] * 10}
    return {"format": "obol-evaluation", "version": 1, "protocol": "quick", "synthetic": 60000,
            "test": 10000, "seeds": 5, "seconds": 123.4, "classes": CLASSES,
            "classifiers": {"logreg": scores(cnn - 0.1), "mlp": scores(cnn - 0.05), "cnn": scores(cnn)},
            "quality": {"classifier_fid": {"value": 12.3, "against": "test"},
                        "fid": {"value": 30.1, "against": "test"},
                        "inception_score": {"value": 8.9, "deviation": 0.1},
                        "precision": {"value": 0.71, "against": "test"},
                        "coverage": {"value": 0.52, "against": "test"}},
            "suite": {"records": 10000, "classifiers": {"random_forest": 0.9, "gaussian_nb": 0.7}}}


PRIVATE = {"format": "obol-evaluation", "version": 1,
           "classifiers": {"cnn": {"on_real": 0.987, "calibrated": 0.96}},
           "memorisation": {"ratio": 1.0123, "low": 0.99, "high": 1.03, "samples": 1000},
           "quality": {"precision": {"value": 0.7, "against": "train"}}}

# What a reader with other eyes, or another screen, would stumble over.
INSPECT = r"""(() => {
  const problems = [];
  const parse = text => (text.match(/[\d.]+/g) || []).map(Number);
  const light = rgb => { const [r, g, b] = rgb.map(v => { v /= 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = element => { for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour; }
    return [255, 255, 255]; };
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || ['STYLE', 'title', 'desc', 'style'].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const ink = parse(element instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(element))].sort((x, y) => y - x);
    ++texts;
    if ((a + 0.05) / (b + 0.05) < 4.5)
      problems.push(`contrast ${((a + 0.05) / (b + 0.05)).toFixed(2)}: ${walker.currentNode.data.trim().slice(0, 40)}`);
  }
  if (texts < 50) problems.push(`only ${texts} texts were looked at`);
  for (const image of document.images) {
    if (!image.alt) problems.push('an image without alt');
    if (!image.naturalWidth) problems.push('an image that cannot be shown');
  }
  for (const svg of document.querySelectorAll('svg'))
    if (!svg.querySelector(':scope > title') || svg.getAttribute('role') !== 'img') problems.push('a plot without title or role');
  let level = 0;
  for (const heading of document.querySelectorAll('h1,h2,h3,h4,h5,h6')) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) problems.push(`${heading.tagName} after level ${level}: ${heading.textContent}`);
    level = own;
  }
  if (document.querySelectorAll('h1').length !== 1) problems.push('not one h1');
  if (!document.documentElement.lang) problems.push('no language');
  if (!document.title) problems.push('no title');
  for (const table of document.querySelectorAll('table'))
    if (!table.querySelector('th[scope]')) problems.push('a table without headings');
  const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  if (new Set(ids).size !== ids.length) problems.push('an id twice');
  if (document.documentElement.scrollWidth > innerWidth)
    problems.push(`${document.documentElement.scrollWidth} px wide, in ${innerWidth}`);
  return problems;
})()"""


class Reported(InFolder):
    def make_run(self, name, title="Squares", data=None, private=True, evaluated=True, blocks=10,
                 cnn=0.951):
        run = self.folder / name
        (run / "samples").mkdir(parents=True)
        (run / "recipe.toml").write_text(RECIPE.format(title=title, data=data or self.data()))
        (run / "ledger.jsonl").write_text(ledger(blocks))
        (run / "metrics.jsonl").write_text("".join(
            json.dumps({"step": step, "seconds": step / 7, "epsilon": (step / 400) ** 0.5 * 2.2,
                        "gradient_norm": 160 + step % 70, "learning_rate": 0.002 / (1 + step)}) + "\n"
            for step in range(10, 401, 10)))
        (run / "samples" / "000400.png").write_bytes(
            png(302, 302, lambda x, y: 208 if x % 30 < 2 or y % 30 < 2 else (x * y) % 200))
        if evaluated:
            (run / "evaluation.json").write_text(json.dumps(evaluation(cnn)))
        if private:
            (run / "private").mkdir()
            (run / "private" / "evaluation.json").write_text(json.dumps(PRIVATE))
        self.succeeds("certify", run, "--delta", "1e-5")
        return run

    def data(self):
        """A data set with a test split."""
        folder = self.folder / "squares"
        folder.mkdir(exist_ok=True)
        for split in ("train", "t10k"):
            (folder / f"{split}-images-idx3-ubyte").write_bytes(
                struct.pack(">IIII", 0x803, 200, 28, 28) + bytes((i * 7) % 256 for i in range(200 * 784)))
            (folder / f"{split}-labels-idx1-ubyte").write_bytes(
                struct.pack(">II", 0x801, 200) + bytes(i % 10 for i in range(200)))
        return folder

    def assert_stands_alone(self, html):
        self.assertNotRegex(html, r"(?i)(src|href|action|data)\s*=\s*[\"']?\s*(https?:)?//")
        self.assertNotRegex(html, r"(?i)url\(|@import|<script|<iframe|<object|<embed|<form|\son\w+\s*=")
        self.assertLess(len(html.encode()), 3_000_000)


class Pages(Reported):
    def test_a_report_has_everything_and_needs_nothing(self):
        run = self.make_run("a", private=False)
        self.assertEqual(self.succeeds("report", run, "--real", self.data()), f"{run}/report.html\n")
        html = (run / "report.html").read_text()
        self.assert_stands_alone(html)
        self.assertEqual(html.count("data:image/png;base64,"), 2, "generated and real images")
        self.assertIn("Had any one record been left out", html)
        self.assertIn("400 x Gaussian", html)
        self.succeeds("report", run, "--real", self.data(), "--out", "other.html")
        self.assertEqual(pathlib.Path("other.html").read_text(), html, "made again, it is the same")

    def test_private_figures_are_marked_or_left_out(self):
        run = self.make_run("a")
        self.succeeds("report", run)
        html = (run / "report.html").read_text()
        self.assertIn("Private: not for release", html)
        self.assertIn("Ratio 1.01", html)
        self.succeeds("report", run, "--without-private")
        html = (run / "report.html").read_text()
        self.assertNotIn("1.01", html)
        self.assertNotIn("98.7%", html)
        self.assertNotIn("not for release", html)

    def test_what_is_missing_is_named(self):
        run = self.make_run("a", data="nowhere/to/be/found", evaluated=False, private=False)
        self.succeeds("report", run)
        html = (run / "report.html").read_text()
        self.assertIn("<code>obol evaluate RUN</code>", html)
        self.assertIn("Real test images are left out", html)
        self.assertEqual(html.count("data:image/png"), 1)
        (run / "certificate.json").unlink()
        self.succeeds("report", run)
        html = (run / "report.html").read_text()
        self.assertIn("No certificate yet", html)
        self.assertNotIn("Had any one record", html)

    def test_files_that_are_something_else(self):
        run = self.make_run("a")
        for text, said in (("{}", "must be an evaluation that Obol wrote"),
                           ('{"format":"obol-evaluation","version":1,"classifiers":7}',
                            "classifiers must be an object")):
            (run / "evaluation.json").write_text(text)
            self.assertIn(said, self.fails(3, "report", run))
        (run / "evaluation.json").unlink()
        (run / "samples" / "000400.png").write_text("no picture")
        self.fails(3, "report", run)
        self.assertIn("must be a run folder", self.fails(2, "report", self.folder))
        self.assertFalse((run / "report.html").exists())

    def test_a_certificate_that_is_not_true_is_not_shown(self):
        run = self.make_run("a")
        text = (run / "ledger.jsonl").read_text().splitlines(keepends=True)
        (run / "ledger.jsonl").write_text("".join(text[:-1]))
        self.fails(7, "report", run)

    def test_runs_side_by_side(self):
        first = self.make_run("first", data="mnist", cnn=0.9)
        second = self.make_run("second", data="mnist", blocks=3, private=False, evaluated=False)
        self.succeeds("compare", first, second, "--out", "compare.html")
        html = pathlib.Path("compare.html").read_text()
        self.assert_stands_alone(html)
        self.assertIn("DP-MERF", html)
        self.assertIn("90.0% ± 0.2", html)
        self.assertNotIn("1.0123", html)
        self.fails(2, "compare", first, "--out", "no/such/../..", self.folder)
        self.fails(2, "compare", first)


@unittest.skipIf(browser.CHROMIUM is None, "no Chromium here: pages are not looked at in a browser")
class InABrowser(Reported):
    def test_pages_can_be_read_by_everyone(self):
        first = self.make_run("first", data="mnist")
        second = self.make_run("second", title="A title that is rather long, to see where it breaks",
                               data="mnist", blocks=3, cnn=0.8)
        bare = self.make_run("bare", data="nowhere", evaluated=False, private=False)
        whole = self.make_run("whole")
        hostile = self.make_run("hostile", title=ATTACK, data=ATTACK)
        text = json.dumps(evaluation()).replace("quick", ATTACK).replace('"mlp"', json.dumps(ATTACK))
        (hostile / "evaluation.json").write_text(text)
        pages = []
        for run in (whole, bare, hostile):
            self.succeeds("report", run)
            pages.append(run / "report.html")
        self.succeeds("compare", first, second, "--out", "compare.html")
        pages.append(pathlib.Path("compare.html"))
        with browser.Browser() as chromium:
            for path in pages:
                for scheme in ("light", "dark"):
                    for width in (390, 1280):
                        with self.subTest(page=path.parent.name, scheme=scheme, width=width):
                            page = chromium.open(path, width=width, scheme=scheme)
                            self.assertEqual(page.evaluate(INSPECT), [])
                            self.assertEqual(page.complaints(), [])
                            asked = [url for url in page.requests() if not url.startswith("data:")]
                            self.assertEqual(asked, [path.resolve().as_uri()])
                            self.assertNotEqual(page.evaluate("document.title"), "broken")
                            self.assertEqual(page.evaluate("document.scripts.length"), 0)
            printed = chromium.open(whole / "report.html", media="print").pdf()
            self.assertTrue(printed.startswith(b"%PDF"))

    def test_the_inspection_finds_what_is_wrong(self):
        pathlib.Path("bad.html").write_text(
            "<!DOCTYPE html><h2 style='color:#aaa;background:#fff'>pale</h2>"
            "<img src='data:,'><svg><text y='20' fill='#bbb'>faint</text></svg><div style='width:3000px'>wide</div>")
        with browser.Browser() as chromium:
            found = " ".join(chromium.open("bad.html").evaluate(INSPECT))
        for word in ("pale", "faint", "without alt", "a plot without", "after level 0", "not one h1",
                     "no language", "no title", "px wide"):
            self.assertIn(word, found)


if __name__ == "__main__":
    unittest.main()
