"""Makes the corpora of the readers of generators, teachers, checkpoints and releases with the program itself:
to be run when one of their formats changes.

    OBOL=build/release/bin/obol python3 tests/fuzz/make_corpus.py
"""
import hashlib
import os
import pathlib
import random
import struct
import subprocess
import tempfile

OBOL = os.path.abspath(os.environ["OBOL"])
CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
RECIPE = """title = "Tiny"
[data]
source = "{data}"
classes = 2
[privacy]
barrier = "record"
sampling_rate = 0.2
steps = 3
epsilon = 10
delta = 1e-5
histogram_noise = 5
generated_batch = 4
[generator]
architecture = "{architecture}"
width = 1
latent = 1
embedding = 1
[method]
clip_norm = 7
regularization = 4
second_batch = 4
average = 0.9
"""

SUMMIT = """title = "Tiny"
[data]
source = "{data}"
classes = 2
[privacy]
epsilon = 10
delta = 1e-5
[generator]
width = 1
latent = 1
embedding = 1
output = "sigmoid"
[method]
name = "summit"
frequencies = 4
steps = 2
batch = 4
teacher_steps = 3
"""


def train(folder, architecture, side):
    data = folder / f"data-{side}"
    data.mkdir(exist_ok=True)
    numbers = random.Random(1)
    (data / "train-images-idx3-ubyte").write_bytes(
        struct.pack(">IIII", 0x803, 60, side, side) + bytes(numbers.randrange(256) for _ in range(60 * side * side)))
    (data / "train-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, 60) + bytes(i % 2 for i in range(60)))
    recipe = folder / f"{architecture}.toml"
    text = SUMMIT if architecture == "summit" else RECIPE
    recipe.write_text(text.format(data=data, architecture=architecture))
    run = folder / architecture
    subprocess.run([OBOL, "train", recipe, "--out", run, "--threads", "1"], check=True)
    return run


def packed(release):
    """As the target unpacks it, without what verify does not read."""
    files = {name: (release / name).read_bytes()
             for name in ("certificate.json", "certificate.md", "generator.safetensors", "ledger.jsonl",
                          "teacher.safetensors") if (release / name).exists()}
    files["DATA_CARD.md"] = b"# Tiny\n"
    sums = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    files["SHA256SUMS"] = sums.encode()
    return b"".join(f"{name} {len(content)}\n".encode() + content for name, content in sorted(files.items()))


def main():
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for architecture, side in (("dcgan", 4), ("resnet", 28), ("biggan", 32)):
            run = train(folder, architecture, side)
            (CORPUS / "generator" / f"{architecture}.safetensors").write_bytes(
                (run / "generator.safetensors").read_bytes())
        taught = train(folder, "summit", 4)
        (CORPUS / "teacher" / "tiny.safetensors").write_bytes((taught / "teacher.safetensors").read_bytes())
        subprocess.run([OBOL, "release", taught, "--out", folder / "taught", "--count", "4", "--seed", "1"], check=True)
        (CORPUS / "release" / "taught").write_bytes(packed(folder / "taught"))
        run = folder / "dcgan"
        (CORPUS / "checkpoint" / "dcgan").write_bytes((run / "checkpoint.pt").read_bytes())
        subprocess.run([OBOL, "release", run, "--out", folder / "release", "--count", "4", "--seed", "1"], check=True)
        (CORPUS / "release" / "tiny").write_bytes(packed(folder / "release"))


if __name__ == "__main__":
    main()
