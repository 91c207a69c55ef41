"""Installs Obol into an empty folder, builds a program against it with find_package, and runs it.

    consumer_test.py [MAIN.cpp]      without a file: the program in docs/library.md
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["SOURCE"])
BUILD = pathlib.Path(os.environ["BUILD"])


def run(*command, **options):
    result = subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{result.stdout}")
    return result.stdout


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        if len(sys.argv) > 1:
            program = pathlib.Path(sys.argv[1]).resolve()
        else:
            text = (SOURCE / "docs/library.md").read_text()
            program = scratch / "main.cpp"
            program.write_text(re.search(r"```cpp\n(.*?)```", text, re.S).group(1))
        run("cmake", "--install", BUILD, "--prefix", scratch / "prefix")
        run("cmake", "-S", SOURCE / "tests/consumer", "-B", scratch / "build", "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={scratch / 'prefix'}", f"-DMAIN={program}")
        run("cmake", "--build", scratch / "build")
        print(run(scratch / "build/consumer"))
        # The installed program finds its recipes and, where there is one, its tensor part.
        installed = scratch / "prefix/bin/obol"
        if "data/mnist" not in run(installed, "recipes", "list", cwd=scratch):
            sys.exit("the installed program must find its recipes, but does not")
        if os.environ.get("OBOL_HAS_TORCH") == "1" and "LibTorch" not in run(installed, "doctor"):
            sys.exit("the installed program must load LibTorch, but does not")


if __name__ == "__main__":
    main()
