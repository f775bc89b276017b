"""Cuts of graphs beside Louvain, Leiden, METIS and spectral clustering, where installed."""

import time
from statistics import median

import numpy as np
from scipy import sparse

from benchmarks.graph_data import Labels, graphs
from benchmarks.graph_peers import absent, many_partitions, spectral
from benchmarks.options import Options
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import progress
from hardbayes import GraphDPMeans, objective

NOTES = """\
**Objective**: normalised cut plus penalty at penalties that give 2 to 50 clusters, each compared
with the best of all peers' partitions (all resolutions and numbers of clusters) under the same
objective. Printed is the worst and the median difference in percent; negative is better.

**Time**: CPU seconds of `GraphDPMeans()`, the choice of the penalty included, beside one call of
SpectralClustering that is told the number of clusters found. More graphs: `--graphs FILE ...`."""

COLUMNS = ["graph", "what", "ours", "peer", "measured", *TARGET_COLUMNS]


def run(options: Options) -> Section:
    """Compare objectives and times."""
    section = Section("Graphs", COLUMNS, NOTES, remarks=absent())
    for name, links, _ in graphs(options):
        progress(f"graphs, {name}")
        _add_objective(section, name, links, many_partitions(links, options), options)
        _add_time(section, name, links)
    return section


def _add_objective(
    section: Section,
    name: str,
    links: sparse.csr_array,
    partitions: list[Labels],
    options: Options,
) -> None:
    """Compare with the best peer at penalties that give 2 to 50 clusters."""
    cuts = [(objective(links, each, 0.0, cut="normalized"), each.max() + 1) for each in partitions]
    differences, numbers = [], []
    for penalty in -np.geomspace(0.9, 0.005, 4 if options.quick else 16):
        model = GraphDPMeans(float(penalty), random_state=0).fit(links)
        if 2 <= model.n_clusters_ <= 50:
            best = min(cut + penalty * k for cut, k in cuts)
            differences.append(100 * (model.objective_ - best) / abs(best))
            numbers.append(model.n_clusters_)
    if not differences:
        return
    worst, middle = max(differences), median(differences)
    verdict = Target(reach=0.5, lower_is_better=True, unit=" %").cells(worst)
    what = f"objective at {len(numbers)} penalties, {min(numbers)} to {max(numbers)} clusters"
    section.add(
        name, what, f"median {middle:+.2f} %", f"best of {len(cuts)}", f"{worst:+.2f} %", *verdict
    )


def _add_time(section: Section, name: str, links: sparse.csr_array) -> None:
    begin = time.process_time()
    model = GraphDPMeans(random_state=0).fit(links)
    taken = time.process_time() - begin
    begin = time.process_time()
    spectral(links, max(2, model.n_clusters_))
    beside = time.process_time() - begin
    verdict = Target(reach=beside, lower_is_better=True, unit=" s").cells(taken)
    found = f"{model.n_clusters_} clusters, penalty {model.cluster_penalty_:.3f}"
    section.add(name, "time", found, f"{beside:.2f} s", f"{taken:.2f} s", *verdict)
