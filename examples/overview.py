"""
What hardbayes finds
====================

Eight kinds of structure. No model is told how much of it there is: every call is without arguments
but the seed and, for round clusters, the divergence.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs, make_circles, make_moons

from hardbayes import (
    BPMeans,
    DPMeans,
    GaussianDPMeans,
    GraphDPMeans,
    HDPMeans,
    HDPTopics,
    KernelDPMeans,
)
from hardbayes.datasets import (
    load_karate_club,
    make_bars,
    make_customers,
    make_shared_gaussians,
    make_tabletop,
)
from hardbayes.plot.pictures import COLORS

figure, axes = plt.subplots(2, 4, figsize=(14, 7.4), layout="constrained")
panels = iter(axes.flat)


def panel(call, found):
    """Return the next axes, with the call and what it found above."""
    ax = next(panels)
    ax.set_title(f"{call}\n{found}", fontsize=11, linespacing=1.4)
    ax.set_xticks([])
    ax.set_yticks([])
    print(f"{call}: {found}.")
    return ax


def scatter(ax, X, labels, size=7):
    """Draw rows of the plane in the colours of their clusters."""
    ax.scatter(*X.T, s=size, c=np.array(COLORS)[labels % len(COLORS)], linewidths=0)
    ax.set_aspect("equal", "datalim")


def tiles(ax, images, n_columns, **options):
    """Draw images in rows of so many."""
    ax.set_frame_on(False)
    n_rows = -(-len(images) // n_columns)
    for at, image in enumerate(images):
        row, column = divmod(at, n_columns)
        corner = [column / n_columns, 1 - (row + 1) / n_rows]
        inset = ax.inset_axes([*corner, 0.94 / n_columns, 0.94 / n_rows], xticks=[], yticks=[])
        inset.imshow(image, **options)


# Round clusters.
X, _ = make_blobs(900, centers=12, cluster_std=0.55, random_state=2)
model = DPMeans(random_state=0).fit(X)
scatter(panel("DPMeans()", f"{model.n_clusters_} clusters"), X, model.labels_)

# Long ones, each with a covariance of its own.
rng = np.random.RandomState(0)
long = rng.normal(size=(4, 180, 2)) * [2.0, 0.25]
angles = np.radians([20, 75, 140, 100])
turns = np.stack([[np.cos(angles), np.sin(angles)], [-np.sin(angles), np.cos(angles)]])
corners = [[[0, 0]], [[5, 4]], [[-3, 5]], [[-6, 0]]]
X = (np.einsum("cnd,dec->cne", long, turns) + corners).reshape(-1, 2)
model = GaussianDPMeans(random_state=0).fit(X)
scatter(panel("GaussianDPMeans()", f"{model.n_clusters_} clusters"), X, model.labels_)

# Any shape, by a kernel whose width is found too.
rings, _ = make_circles(500, noise=0.05, factor=0.4, random_state=0)
moons, _ = make_moons(500, noise=0.05, random_state=0)
X = np.vstack([rings, moons + np.array([2.6, -0.3])])
model = KernelDPMeans(random_state=0).fit(X)
scatter(panel("KernelDPMeans()", f"{model.n_clusters_} clusters"), X, model.labels_)

# Communities of a graph.
graph, _ = load_karate_club()
model = GraphDPMeans(random_state=0).fit(graph)
ax = panel("GraphDPMeans()", f"{model.n_clusters_} communities of the karate club")
links = graph.toarray()
place = np.linalg.eigh(np.diag(links.sum(axis=1)) - links)[1][:, 1:3]
for cooling in np.linspace(0.1, 0.0, 300):  # links pull, and all vertices push (Fruchterman 1991)
    apart = place[:, np.newaxis] - place
    far = np.linalg.norm(apart, axis=2) + 1e-9
    force = (apart * (0.03 / far**2 - links * far / 0.17)[:, :, np.newaxis]).sum(axis=1)
    place += cooling * force / (np.linalg.norm(force, axis=1, keepdims=True) + 1e-9)
for a, b in np.transpose(graph.nonzero()):
    ax.plot(*place[[a, b]].T, color="0.8", linewidth=0.6, zorder=0)
scatter(ax, place, model.labels_, size=60)

# Clusters that groups of rows share: the rows of 4 of 50 groups, and all others in grey.
X, groups, _ = make_shared_gaussians(random_state=0)
model = HDPMeans(random_state=0).fit(X, groups=groups)
ax = panel("HDPMeans().fit(X, groups=g)", f"{model.n_clusters_} clusters, shared by 50 groups")
ax.set_frame_on(False)
for at in range(4):
    inset = ax.inset_axes([0.5 * (at % 2), 0.5 * (at // 2), 0.49, 0.49], xticks=[], yticks=[])
    inset.scatter(*X.T, s=1, c="0.9", linewidths=0)
    scatter(inset, X[groups == at], model.labels_[groups == at], size=10)

# Topics of documents: here the words are the cells of a grid.
X = make_bars(300, random_state=0)[0]
model = HDPTopics(random_state=0).fit(X)
ax = panel("HDPTopics()", f"{model.n_topics_} topics of 300 documents")
tiles(ax, model.components_.reshape(-1, 5, 5), 4, cmap="Blues")

# Overlapping features: each picture has any set of them.
X, _ = make_tabletop(random_state=0)
model = BPMeans(random_state=0).fit(X)
ax = panel("BPMeans()", f"{model.n_components_} features, and four of the pictures")
shades = [each.reshape(16, 16, 3).mean(axis=2) for each in (*model.components_, *X[:4])]
tiles(ax, [each / np.abs(each).max() for each in shades], 3, cmap="RdBu_r", vmin=-1, vmax=1)

# Tables with numbers, categories, yes and no, and missing cells.
table, _ = make_customers(random_state=0)
model = DPMeans(divergence="mixed", random_state=0).fit(pd.DataFrame(table))
ax = panel('DPMeans(divergence="mixed")', f"{model.n_clusters_} clusters of a mixed table")
ax.set_frame_on(False)
for at, column in enumerate(("country", "newsletter", "stars")):
    inset = ax.inset_axes([0.35 * at, 0, 0.3, 0.92], xticks=[], yticks=[], title=column)
    inset.set_frame_on(False)
    shares = pd.crosstab(model.labels_, table[column], normalize="index").to_numpy()
    left = np.zeros(len(shares))
    for share, color in zip(shares.T, COLORS, strict=False):
        inset.barh(range(len(shares)), share, 0.8, left, color=color)
        left += share
figure.savefig("overview.png", dpi=90)
