"""Installs Obol into an empty folder, builds a program against it with find_package, and runs it. Without
a program, the one in docs/library.md is built, and what is installed is looked at as well: no header
but the public ones, and they compile, those without LibTorch each alone.

    consumer_test.py [MAIN.cpp]
"""
import concurrent.futures
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


def public_headers():
    text = (SOURCE / "cmake/PublicHeaders.cmake").read_text()
    return set(re.findall(r"[\w/]+\.h", re.sub(r"#.*", "", text)))


def complaint(headers, include, options):
    """What the compiler says against a file that includes nothing but these."""
    text = "".join(f'#include "obol/{header}"\n' for header in headers)
    result = subprocess.run(
        ["c++", "-std=c++20", "-fsyntax-only", "-DFMT_HEADER_ONLY=1", f"-I{include}", *options, "-x", "c++", "-"],
        input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return f"{' '.join(headers)} must compile, but does not:\n{result.stdout}" if result.returncode else ""


def torch_options():
    commands = (BUILD / "compile_commands.json").read_text()
    return [f"-I{folder}" for folder in sorted(set(re.findall(r"-isystem (\S*torch\S*)", commands)))]


def check_headers(prefix):
    include = prefix / "include"
    installed = {p.relative_to(include / "obol").as_posix() for p in (include / "obol").rglob("*")
                 if p.is_file()}
    if installed != public_headers():
        sys.exit(f"what is installed must be the public headers, but these are in one place alone: "
                 f"{sorted(installed ^ public_headers())}")
    internal = re.compile(r"(^|/)(cuda|cpu|pld|testing)/|gpu|testing\.h|\.cuh$|\.inc$")
    if strangers := [h for h in installed if internal.search(h)]:
        sys.exit(f"no internal header must be installed, but these are: {strangers}")
    for header in sorted(installed):
        text = (include / "obol" / header).read_text()
        if missing := set(re.findall(r'^#include "obol/([^"]+)"', text, re.M)) - installed:
            sys.exit(f"{header} must include installed headers, but includes {sorted(missing)}")
    torch = {h for h in installed if "<torch/" in (include / "obol" / h).read_text()}
    while more := {h for h in installed - torch
                   if any(f'"obol/{t}"' in (include / "obol" / h).read_text() for t in torch)}:
        torch |= more
    # Each alone; those with LibTorch, which takes half a minute, in one file.
    units = [([header], []) for header in sorted(installed - torch)]
    if os.environ.get("OBOL_HAS_TORCH") == "1":
        units.insert(0, (sorted(torch), torch_options()))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda unit: complaint(unit[0], include, unit[1]), units))
    if any(said):
        sys.exit("\n".join(filter(None, said)))
    print(f"{len(installed)} public headers compile")


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
        if len(sys.argv) == 1:
            check_headers(scratch / "prefix")
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
