"""``hardbayes demo``: a small fit, printed and drawn."""

import argparse
import math
import sys
from pathlib import Path
from typing import Any

from hardbayes.cli.results import check_ending, check_writable, write_figure
from hardbayes.cli.terminal import cannot_write
from hardbayes.core.loop import counted

DEFAULT_OUTPUT = "hardbayes-demo.png"
_SEED = 0


def add_parser(commands: Any) -> None:
    """Add ``demo`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "demo",
        help="cluster a small data set and draw it",
        description="Cluster three overlapping Gaussians, print what was found and draw it.",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="PICTURE",
        default=DEFAULT_OUTPUT,
        help="where to write the picture (.png, .pdf or .svg; default: %(default)s) and, as .html, "
        "the report; existing files are replaced",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the demo: fit, print, draw."""
    output = Path(options.output)
    # Before the fit, so that a wrong path is reported at once.
    check_writable(output)
    check_ending(output)

    # Not at the top: `hardbayes --help` does not need them. scikit-learn is imported with the
    # package, numba at the first fit.
    from sklearn.metrics import normalized_mutual_info_score

    from hardbayes import DPMeans
    from hardbayes.datasets import make_three_gaussians

    X, y = make_three_gaussians(random_state=_SEED)
    # With `init` the fit does not start from the solution of the path, so that the history falls.
    model = DPMeans(init="farthest-first", random_state=_SEED).fit(X)

    print(f"Data: {X.shape[0]} rows, {X.shape[1]} columns, drawn from three Gaussians")
    print(f"Penalty for each cluster: {model.cluster_penalty_:.4g}, the middle of a wide plateau")
    print(
        f"Plateau: a factor of {math.exp(model.plateau_width_):.3g} wide; "
        f"without structure it would be {math.exp(model.plateau_reference_):.3g}"
    )
    print()
    print(describe(model))
    print()
    nmi = normalized_mutual_info_score(y, model.labels_)
    print(f"Agreement with the Gaussians: NMI {nmi:.2f} (1 is perfect, 0 is chance)")
    print(draw(model, X, output))
    print(write_report(model, X, output.with_suffix(".html")))
    print("Next, with a table of your own: hardbayes cluster TABLE.csv", flush=True)


def describe(model: Any) -> str:
    """Return the history of the objective, the status and the clusters, as text."""
    lines = [" Step      Objective"]
    lines += [
        f"{step:5d} {value:14.4f}" for step, value in enumerate(model.objective_history_, start=1)
    ]
    found = f"Found {counted(model.n_clusters_, 'cluster')}"
    lines += [model.status_, "", found, "Cluster   Rows   Centre"]
    for k, center in enumerate(model.cluster_centers_):
        place = ", ".join(f"{value:.2f}" for value in center)
        lines.append(f"{k:7d} {(model.labels_ == k).sum():6d}   ({place})")
    return "\n".join(lines)


def draw(model: Any, X: Any, output: Path) -> str:
    """Write the picture and return a line with its path, or with the reason why there is none."""
    from hardbayes.plot import fit_figure

    try:
        figure = fit_figure(model, X)
    except ImportError:
        return 'No picture: matplotlib is missing. Install it: pip install "hardbayes[plot]"'
    write_figure(figure, output)
    return f"Picture: {printable(str(output.resolve()))}"


def write_report(model: Any, X: Any, output: Path) -> str:
    """Write the report beside the picture and return a line with its path."""
    from hardbayes import report

    check_writable(output)
    try:
        report(model, X, output, title="Three Gaussians", overwrite=True)
    except OSError as error:
        raise cannot_write(output, error) from error
    return f"Report: {printable(str(output.resolve()))}"


def printable(text: str) -> str:
    """Return text with backslash escapes for what the standard output cannot encode."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
