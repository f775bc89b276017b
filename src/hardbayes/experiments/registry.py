"""The list of experiments: a line for each."""

import time
import warnings
from importlib import import_module
from typing import NamedTuple

from hardbayes.experiments.results import Asked, Result


class Experiment(NamedTuple):
    """An experiment by its name; its file has the same name, with underscores."""

    name: str
    paper: str  # which table or figure
    about: str

    def run(self, asked: Asked) -> Result:
        """Run it, and say how long it took."""
        module = import_module(f"hardbayes.experiments.{self.name.replace('-', '_')}")
        asked.progress.stage(self.name)
        begin = time.perf_counter()
        with warnings.catch_warnings():
            # Small samples, caps and few sweeps are part of the experiments; claims say what fails.
            warnings.simplefilter("ignore")
            result: Result = module.run(asked)
        return result.after(time.perf_counter() - begin, list(asked.missing))


EXPERIMENTS = (
    Experiment("three-gaussians", "KJ Figure 2a-c", "three Gaussians, and the Gibbs sampler"),
    Experiment("uci", "KJ Table 1", "eight sets of the UCI repository, against their classes"),
    Experiment("photo-tourism", "KJ 6.2", "sweeps over 312,320 image patches"),
    Experiment("shared-gaussians", "KJ 6.3, Figure 2d", "50 data sets that share 15 Gaussians"),
    Experiment("images", "JKJ 5, Figure 1 left", "images as counts of visual words"),
    Experiment("topics", "JKJ Table 1, Figure 1 right", "topics of documents, and their time"),
    Experiment("tabletop", "BKJ Figures 1 and 2", "pictures of a table, and the IBP sampler"),
    Experiment("digits", "BKJ Figure 3", "a base and features of pictures, beside clusters"),
    Experiment("dice", "BKJ simulated data", "pictures that are sums of four dice"),
    Experiment("limit", "KJ 3.1, BKJ supplements A-D", "samplers and probabilities in the limit"),
)


def find(names: list[str]) -> list[Experiment]:
    """Return the experiments of these names, all if there are none; else raise a KeyError."""
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    return [known[name] for name in dict.fromkeys(names)] if names else list(EXPERIMENTS)
