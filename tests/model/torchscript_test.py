"""A released generator opens in PyTorch and makes the same images there. Skipped without PyTorch."""
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    print("skipped: there is no PyTorch for this Python")
    sys.exit(77)

PROGRAM = pathlib.Path(os.environ["BUILD"]) / "bin/write_generator"


def check(architecture, num_classes):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, architecture, str(num_classes), folder], check=True)
        generator = torch.jit.load(f"{folder}/generator.pt")
        example = torch.jit.load(f"{folder}/example.pt")
    assert generator.latent == 6 and generator.num_classes == num_classes
    assert list(generator.shape) == [1, 32, 32]
    with torch.no_grad():
        images = generator(example.z, example.labels) if num_classes > 1 else generator(example.z)
    error = (images - example.images).abs().max().item()
    assert error < 1e-5, f"{architecture}, {num_classes} classes: images differ by {error}"
    assert example.images.std() > 1e-3, "the images must show something"


for architecture in ("dcgan", "biggan"):
    for num_classes in (0, 10):
        check(architecture, num_classes)
print("the same images in PyTorch", torch.__version__)
