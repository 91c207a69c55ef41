"""Installs Obol, builds examples/ against it as another project would, and runs each example."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["SOURCE"])
BUILD = pathlib.Path(os.environ["BUILD"])
MOST_LINES = 150
# What each must say, as regular expressions.
EXPECTED = {
    "01_accountant": [r"epsilon 4\.294", r"noise multiplier 1\.748"],
    "02_own_mechanism": [r"about -?\d", r"epsilon must be at most 1 at delta 1e-05", r"epsilon 0\.7255"],
    "03_train": [r"finished 100 steps: epsilon \d", r"certified epsilon (9\.|10\b)",
                 r"logreg trained on synthetic images: (9\d|100)\.?\d*% of 300 real ones"],
    "04_own_barrier": [r"mean images", r"records up to each brightness",
                       r"epsilon must be at most 1 at delta 1e-05", r"epsilon 0\.8684"],
    "05_own_method": [r"finished 60 steps: epsilon", r"epsilon (1\.9\d|2\b)"],
}
TENSORS = {"03_train", "04_own_barrier", "05_own_method"}
OWN_METHOD = "05_own_method"  # a project of its own, on the data that 03_train has written


def run(*command, **options):
    result = subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{result.stdout}")
    return result.stdout


def check(name, said):
    print(f"{name}\n{said}")
    for pattern in EXPECTED[name]:
        if not re.search(pattern, said):
            sys.exit(f"{name} must say '{pattern}', but said:\n{said}")


def build(source, folder, prefix):
    run("cmake", "-S", source, "-B", folder, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder)


def check_own_method(scratch, obol):
    place = scratch / "03_train"
    recipe = SOURCE / "examples" / OWN_METHOD / "recipe.toml"
    check(OWN_METHOD, run(scratch / "own" / OWN_METHOD, recipe, "own", cwd=place))
    # Its run is one like any other to the program, which has no such method.
    run(obol, "verify", "own", cwd=place)
    run(obol, "evaluate", "own", "--against", "test.npz", "--classifiers", "logreg", "--count", "600",
        "--no-quality", cwd=place)
    run(obol, "report", "own", cwd=place)
    if not (place / "own/report.html").exists():
        sys.exit("the run of an own method must have a report, but has none")


def main():
    folders = sorted(p.parent.name for p in SOURCE.glob("examples/*/main.cpp"))
    if folders != sorted(EXPECTED):
        sys.exit(f"every example must be expected here, but these are there: {folders}")
    for name in folders:
        lines = len((SOURCE / "examples" / name / "main.cpp").read_text().splitlines())
        if lines > MOST_LINES:
            sys.exit(f"an example must have at most {MOST_LINES} lines, but {name} has {lines}")
    has_tensors = os.environ.get("OBOL_HAS_TORCH") == "1"
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = pathlib.Path(scratch_name)
        prefix = scratch / "prefix"
        run("cmake", "--install", BUILD, "--prefix", prefix)
        build(SOURCE / "examples", scratch / "build", prefix)
        for name in folders:
            if name == OWN_METHOD or (name in TENSORS and not has_tensors):
                continue
            place = scratch / name
            place.mkdir()
            check(name, run(scratch / "build" / name, cwd=place))
        if has_tensors:
            build(SOURCE / "examples" / OWN_METHOD, scratch / "own", prefix)
            check_own_method(scratch, prefix / "bin/obol")


if __name__ == "__main__":
    main()
