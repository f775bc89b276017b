"""KJ 6.3 and Figure 2d: the hard Gaussian HDP on 50 small data sets that share 15 Gaussians."""

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from hardbayes import DPMeans, HDPMeans, KernelHDPMeans, local_global_penalties_for, penalty_for
from hardbayes.datasets import make_shared_gaussians
from hardbayes.experiments.agreement import nmi
from hardbayes.experiments.results import Asked, Claim, Result, number
from hardbayes.plot.pictures import COLORS

SEED = 0  # any: means over draws are shown
#: Costs of the published algorithm: the paper's rule for the local one, and a global one that gives
#: about as many global clusters as the paper has; its own rule gives other numbers. Measured.
GLOBAL_PENALTY = 0.2
#: Of an RBF kernel, which is then nearly linear within a Gaussian: near rows, |x - y| apart, are
#: sqrt(2 gamma) |x - y| apart in its space, and penalties grow by 2 gamma.
GAMMA = 1.0
PAPER = {
    "k-means, all": 0.77,
    "DP-means, all": 0.73,
    "HDP": 0.81,
    "k-means, each": 0.79,
    "DP-means, each": 0.79,
}
N_LOCAL, N_GLOBAL = 5, 15


def score(groups: Any, classes: Any, labels: Any) -> float:
    """Return the agreement within each data set, averaged."""
    return float(
        np.mean([nmi(classes[groups == g], labels[groups == g]) for g in np.unique(groups)])
    )


def each_alone(X: Any, groups: Any, make: Any) -> Any:
    """Return labels of every data set from a model of its own."""
    labels = np.zeros(len(X), int)
    for g in np.unique(groups):
        labels[groups == g] = make(X[groups == g]).fit_predict(X[groups == g])
    return labels


def run(asked: Asked) -> Result:
    """Cluster a number of draws in every way that the paper does."""
    n_draws = asked.either(20, 2)
    scores: dict[str, list[float]] = {}
    sizes: dict[str, list[float]] = {"global": [], "local": [], "ours": [], "rule": []}
    for seed in range(n_draws):
        asked.progress.step("draw", seed, n_draws)
        X, groups, y = make_shared_gaussians(random_state=SEED + seed)
        local, by_rule = local_global_penalties_for(X, groups, N_LOCAL, N_GLOBAL)
        paper: dict[str, Any] = {"search": "paper", "random_state": seed}
        hdp = HDPMeans(local, GLOBAL_PENALTY, **paper).fit(X, groups=groups)
        kernel = KernelHDPMeans(
            2 * GAMMA * local, 2 * GAMMA * GLOBAL_PENALTY, gamma=GAMMA, balance=False, **paper
        ).fit(X, groups=groups)
        rule = HDPMeans(local, by_rule, **paper).fit(X, groups=groups)
        ours = HDPMeans(random_state=seed).fit(X, groups=groups)
        labels = {
            "k-means, all": KMeans(N_GLOBAL, n_init=1, random_state=seed).fit_predict(X),
            "DP-means, all": DPMeans(penalty_for(X, N_GLOBAL), **paper).fit_predict(X),
            "HDP": hdp.labels_,
            "HDP, kernel": kernel.labels_,
            "HDPMeans()": ours.labels_,
            "k-means, each": each_alone(
                X, groups, lambda _, s=seed: KMeans(N_LOCAL, n_init=10, random_state=s)
            ),
            "DP-means, each": each_alone(
                X, groups, lambda rows, p=paper: DPMeans(penalty_for(rows, N_LOCAL), **p)
            ),
        }
        for name, found in labels.items():
            scores.setdefault(name, []).append(score(groups, y, found))
        sizes["global"].append(hdp.n_clusters_)
        sizes["local"].append(float(np.mean(hdp.n_local_clusters_)))
        sizes["rule"].append(rule.n_clusters_)
        sizes["ours"].append(ours.n_clusters_)
    mean = {name: float(np.mean(values)) for name, values in scores.items()}

    def shown(name: str) -> str:
        return f"{number(mean[name])} +- {number(float(np.std(scores[name])))}"

    lucky = float(np.mean(np.array(scores["HDP"]) >= PAPER["HDP"]))
    rows = [
        (
            "all rows at once",
            f"{number(PAPER['DP-means, all'])} DP-means",
            f"{shown('DP-means, all')} DP-means",
            "-",
            f"{shown('k-means, all')} (paper {number(PAPER['k-means, all'])})",
        ),
        (
            "each set alone",
            f"{number(PAPER['DP-means, each'])} DP-means",
            f"{shown('DP-means, each')} DP-means",
            "-",
            f"{shown('k-means, each')} (paper {number(PAPER['k-means, each'])})",
        ),
        ("hard HDP", number(PAPER["HDP"]), shown("HDP"), shown("HDPMeans()"), "-"),
        (
            f"the same in the space of a kernel (RBF, gamma {GAMMA:g})",
            "-",
            shown("HDP, kernel"),
            "-",
            "-",
        ),
        (
            "global clusters",
            "17",
            f"{np.mean(sizes['global']):.1f}",
            f"{np.mean(sizes['ours']):.1f}",
            "15, told",
        ),
        ("local clusters a set", "4.4", f"{np.mean(sizes['local']):.1f}", "-", "5, told"),
        (
            "global clusters by the rule for lambda_g",
            "17",
            f"{np.mean(sizes['rule']):.1f}",
            "-",
            "-",
        ),
    ]
    claims = [
        Claim(
            "the HDP beats both methods on all rows at once",
            mean["HDP"] > max(mean["k-means, all"], mean["DP-means, all"]),
            "not here",
        ),
        Claim(
            "about 17 global and 4.4 local clusters",
            bool(
                abs(np.mean(sizes["global"]) - 17) < 2 and abs(np.mean(sizes["local"]) - 4.4) < 0.5
            ),
            f"{np.mean(sizes['global']):.1f} and {np.mean(sizes['local']):.1f}",
        ),
        Claim(
            "an NMI of .81, above each set alone",
            mean["HDP"] > max(0.79, mean["k-means, each"], mean["DP-means, each"]),
            f"{lucky:.0%} of {n_draws} draws reach .81: it is a lucky one",
        ),
    ]

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(2, 3))
        X, groups, y = make_shared_gaussians(random_state=SEED)
        left.plot(*X.T, ".", color="0.6", ms=2)
        for at, k in enumerate(np.unique(y[groups == 0])):
            left.plot(*X[(groups == 0) & (y == k)].T, "o", color=COLORS[at], ms=5)
        left.set(title="one of the 50 data sets, and all rows", aspect="equal")
        names = list(scores)
        for at, name in enumerate(names):
            right.plot(scores[name], [at] * n_draws, "o", color=COLORS[0], alpha=0.4)
            right.plot(mean[name], at, "|", color=COLORS[0], ms=18, mew=2)
            if name in PAPER:
                right.plot(PAPER[name], at, "D", color=COLORS[4], ms=7)
        right.set(yticks=range(len(names)), yticklabels=names, xlabel="NMI")
        right.invert_yaxis()

    return Result(
        head=("what", "paper", "search='paper'", "HDPMeans()", "k-means"),
        rows=rows,
        claims=claims,
        seed=SEED,
        draw=draw,
        data="drawn: 50 sets of 25 rows, 5 from each of 5 of 15 Gaussians (make_shared_gaussians)",
        notes=f"Mean and standard deviation of {n_draws} draws. The local penalty is the paper's "
        f"rule for 5 clusters a set; the global one is {number(GLOBAL_PENALTY, 1)}, as the rule "
        "for it gives another number of clusters in every reading.",
        caption="Left: the rows of one set in colours. Right: every draw, the means (strokes), and "
        "the paper (diamonds).",
    )
