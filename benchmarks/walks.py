"""How much of the source one call enters: ``python -m benchmarks.walks``.

Files and folders with a Python function that the call enters, once everything is compiled; and how
often the penalty is chosen. It tells how many rooms a reader who follows a fit has to open.
"""

import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hardbayes
from hardbayes import BPMeans, DPMeans, GaussianDPMeans, GraphDPMeans, HDPMeans, HDPTopics
from hardbayes.cli import main as command
from hardbayes.datasets import make_planted_partition, make_three_gaussians, make_word_histograms

SOURCE = Path(hardbayes.__file__).resolve().parent


class Walk:
    """Notes every Python function of the library that is entered."""

    def __init__(self) -> None:
        self.entered: dict[Any, int] = {}

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            code = frame.f_code
            self.entered[code] = self.entered.get(code, 0) + 1

    def report(self) -> tuple[int, int, int, int]:
        """Return the number of files, folders, functions, and choices of a penalty."""
        own = {c: n for c, n in self.entered.items() if c.co_filename.startswith(f"{SOURCE}/")}
        files = {Path(code.co_filename) for code in own}
        choices = sum(n for c, n in own.items() if c.co_name in ("choose_penalty", "choose_number"))
        return len(files), len({path.parent for path in files}), len(own), choices

    def files(self) -> list[str]:
        """Return the files, by folder."""
        names = {code.co_filename for code in self.entered}
        return sorted(str(Path(n).relative_to(SOURCE)) for n in names if n.startswith(f"{SOURCE}/"))


def walk(call: Callable[[], Any]) -> Walk:
    """Make a call twice, once to compile, and note what the second enters."""
    call()
    noted = Walk()
    threading.setprofile(noted)
    sys.setprofile(noted)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return noted


def walks(folder: Path) -> dict[str, Callable[[], Any]]:
    """Return the calls."""
    X = make_three_gaussians(300, random_state=0)[0]
    fitted = DPMeans(50).fit(X)
    graph = make_planted_partition(random_state=0)[0]
    words = make_word_histograms(random_state=0)[0]
    table = folder / "table.csv"
    np.savetxt(table, X, delimiter=",", header="a,b", comments="")
    outputs = ["-o", str(folder / "labels.csv"), "--overwrite"]
    report = [str(table), "--report", str(folder / "page.html"), *outputs]
    return {
        'DPMeans(50, search="paper")': lambda: DPMeans(50, search="paper").fit(X),
        "DPMeans(50)": lambda: DPMeans(50).fit(X),
        "DPMeans()": lambda: DPMeans().fit(X),
        "predict": lambda: fitted.predict(X),
        "GaussianDPMeans()": lambda: GaussianDPMeans().fit(X),
        "GraphDPMeans()": lambda: GraphDPMeans().fit(graph),
        "HDPTopics()": lambda: HDPTopics().fit(words),
        "HDPMeans()": lambda: HDPMeans().fit(X, groups=np.arange(len(X)) % 3),
        "BPMeans()": lambda: BPMeans().fit(X),
        "hardbayes cluster --report": lambda: command(["cluster", *report]),
    }


def main() -> None:
    """Print a line for each call, or the files of the one that is named."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for name, call in walks(Path(folder)).items():
            if len(sys.argv) > 1 and sys.argv[1] != name:
                continue
            noted = walk(call)
            files, folders, functions, choices = noted.report()
            print(
                f"{name:28} files {files:3}  folders {folders:2}  functions {functions:3}"
                f"  choices of a penalty {choices}"
            )
            if len(sys.argv) > 1:
                print(*noted.files(), sep="\n")


if __name__ == "__main__":
    main()
