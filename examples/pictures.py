"""What the example scripts share: true kinds beside found clusters, drawn alike."""

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).parent.parent / "docs" / "images"


def side_by_side(titles, width=9.0, height=3.6, **options):
    """A figure with one pair of axes for each title."""
    figure, axes = plt.subplots(
        1, len(titles), figsize=(width, height), layout="constrained", **options
    )
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def finish(figure, name):
    """Write the picture: into the folder named on the command line, else into the manual's."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    figure.savefig(folder / f"{name}.png", dpi=110)
