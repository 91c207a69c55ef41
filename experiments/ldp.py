"""What the experiments on locally privatised data share: obol's commands, several trainings side by
side, and tables."""
import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OBOL = os.environ.get("OBOL", str(ROOT / "build" / "release" / "bin" / "obol"))


def obol(*words):
    done = subprocess.run([OBOL, *map(str, words)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"obol {' '.join(map(str, words))}\n{done.stderr.strip()}")
    return done.stdout


def arguments(description, **defaults):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("out", type=pathlib.Path, help="a new folder")
    parser.add_argument("--data", default="mnist", help="clean data with a test split (mnist)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="trainings side by side (1)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="into the recipe")
    for name, value in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), default=value, type=type(value),
                            help=f"({value})")
    given = parser.parse_args()
    given.out.mkdir(parents=True)
    return given


def numbers(text):
    return [float(word) for word in text.split(",")]


def train(given, run, recipe, records, *settings):
    """One training and its evaluation against the clean test split, as a dictionary."""
    words = [word for setting in (*settings, *given.set) for word in ("--set", setting)]
    obol("train", recipe, "--quiet", "--device", given.device, "--out", run, "--set", f"data.source={records}", *words)
    return json.loads(obol("evaluate", run, "--quiet", "--device", given.device, "--against", given.data,
                           "--count", 10000, "--json"))


def side_by_side(given, tasks):
    """Calls all, and gives their results in order."""
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        futures = [pool.submit(task) for task in tasks]
        for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
            future.result()
            print(f"{done} of {len(tasks)} trainings done", file=sys.stderr)
        return [future.result() for future in futures]


def distances(evaluation):
    """The exact 2-Wasserstein distance, between real images of the same number, and what is above it."""
    found = evaluation["quality"]["wasserstein_exact"]
    value, between = found["value"], found["between_real"]
    return {"distance": value, "between_real": between, "excess": value ** 2 - between ** 2}


def write_table(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: f"{value:.6g}" if isinstance(value, float) else value
                             for key, value in row.items()})
    print(path.read_text(), end="")


def keep_last_picture(run, path):
    shutil.copy(max((run / "samples").iterdir()), path)
