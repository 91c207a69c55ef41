"""Installs Obol into an empty folder, builds a program against it with find_package, and runs it. Without
a program, the one in docs/library.md is built, and what is installed is looked at as well: no header
but the public ones, and each of them compiles alone.

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


def compile_alone(header, include, options):
    """What the compiler says against a file that includes nothing but the header."""
    result = subprocess.run(
        ["c++", "-std=c++20", "-fsyntax-only", "-DFMT_HEADER_ONLY=1", f"-I{include}", *options, "-x", "c++", "-"],
        input=f'#include "{header}"\n', text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return f"{header} must compile alone, but does not:\n{result.stdout}" if result.returncode else ""


def torch_options(scratch):
    """LibTorch's headers, compiled once for all that include them."""
    commands = (BUILD / "compile_commands.json").read_text()
    folders = sorted(set(re.findall(r"-isystem (\S*torch\S*)", commands)))
    options = [f"-I{folder}" for folder in folders]
    header = scratch / "torch_all.h"
    header.write_text("#include <torch/torch.h>\n")
    run("c++", "-std=c++20", "-DFMT_HEADER_ONLY=1", *options, "-x", "c++-header", header, "-o", f"{header}.gch")
    return [*options, "-include", str(header)]


def check_headers(prefix, scratch):
    include = prefix / "include"
    installed = {p.relative_to(include / "obol").as_posix() for p in (include / "obol").rglob("*")
                 if p.is_file()}
    if installed != public_headers():
        sys.exit(f"what is installed must be the public headers, but these are in one place alone: "
                 f"{sorted(installed ^ public_headers())}")
    internal = re.compile(r"(^|/)(cuda|cpu|pld|testing)/|gpu|testing\.h|\.cuh$|\.inc$")
    if strangers := [h for h in installed if internal.search(h)]:
        sys.exit(f"no internal header must be installed, but these are: {strangers}")
    torch = {h for h in installed if "<torch/" in (include / "obol" / h).read_text()}
    while more := {h for h in installed - torch
                   if any(f'"obol/{t}"' in (include / "obol" / h).read_text() for t in torch)}:
        torch |= more
    has_torch = os.environ.get("OBOL_HAS_TORCH") == "1"
    with_torch = torch_options(scratch) if has_torch else []
    wanted = installed if has_torch else installed - torch
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda h: compile_alone(f"obol/{h}", include, with_torch if h in torch else []),
                             sorted(wanted)))
    if any(said):
        sys.exit("\n".join(filter(None, said)))
    print(f"{len(wanted)} public headers compile alone")


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
            check_headers(scratch / "prefix", scratch)
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
