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
    "04_own_barrier": [r"mean images", r"records up to each brightness",
                       r"epsilon must be at most 1 at delta 1e-05", r"epsilon 0\.8684"],
}
TENSORS = {"04_own_barrier"}


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


def main():
    folders = sorted(p.parent.name for p in SOURCE.glob("examples/*/main.cpp"))
    if folders != sorted(EXPECTED):
        sys.exit(f"every example must be expected here, but these are there: {folders}")
    for name in folders:
        lines = len((SOURCE / "examples" / name / "main.cpp").read_text().splitlines())
        if lines > MOST_LINES:
            sys.exit(f"an example must have at most {MOST_LINES} lines, but {name} has {lines}")
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = pathlib.Path(scratch_name)
        run("cmake", "--install", BUILD, "--prefix", scratch / "prefix")
        run("cmake", "-S", SOURCE / "examples", "-B", scratch / "build", "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={scratch / 'prefix'}")
        run("cmake", "--build", scratch / "build")
        for name in folders:
            if name in TENSORS and os.environ.get("OBOL_HAS_TORCH") != "1":
                continue
            place = scratch / name
            place.mkdir()
            check(name, run(scratch / "build" / name, cwd=place))


if __name__ == "__main__":
    main()
