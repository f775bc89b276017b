"""
A stream that drifts
====================

Clusters keep their numbers while they move, and it is told when they come and go.

Rows arrive one after the other: four kinds of them at first. One moves, one ends after a third of
the stream, a new one begins at half of it, and one divides into two that part. Rows count half
after 1,500 more. Nothing is kept but micro-clusters; no number of clusters is given.
"""

import matplotlib.pyplot as plt
import numpy as np

from hardbayes import MiniBatchDPMeans

N, CALL = 24_000, 200  # rows of the stream, rows of a call
rng = np.random.default_rng(1)


def place(kind, t):
    """Return where rows of a kind lie at a time t between 0 and 1, and how many there are."""
    apart = max(0.0, t - 0.45) * 14
    return {
        "stays": ((0.0, 0.0), 1.0),
        "moves": ((-8.0 + 10 * t, 7.0), 1.0),
        "ends": ((8.0, 6.0), 1.0 if t < 0.33 else 0.0),
        "begins": ((7.0, -7.0), 1.0 if t > 0.5 else 0.0),
        "left part": ((-6.0 - apart / 2, -7.0), 0.7),
        "right part": ((-6.0 + apart / 2, -7.0), 0.7),
    }[kind]


kinds = ["stays", "moves", "ends", "begins", "left part", "right part"]
model = MiniBatchDPMeans(1500.0, half_life=1500, random_state=0)
rows, shares, paths = [], {}, {}
for start in range(0, N, CALL):
    t = start / N
    centres, often = zip(*(place(kind, t) for kind in kinds), strict=True)
    drawn = rng.choice(len(kinds), CALL, p=np.array(often) / sum(often))
    model.partial_fit(np.array(centres)[drawn] + 0.6 * rng.standard_normal((CALL, 2)))
    # Results may be read at any time; the stream goes on as if they had not been.
    rows.append(model.n_rows_seen_)
    weights = model.cluster_weights_ / model.cluster_weights_.sum()
    for name, share, centre in zip(
        model.cluster_ids_.tolist(), weights, model.cluster_centers_, strict=True
    ):
        shares.setdefault(name, np.zeros(N // CALL))[len(rows) - 1] = share
        paths.setdefault(name, []).append(centre)

print(f"{model.n_rows_seen_:,} rows, {len(model.micro_weights_):,} micro-clusters")
for kind, name, row, *other in model.events_:
    where = {"split": " from ", "merged": " into "}.get(kind, "")
    print(f"{row:6,}: cluster {name} {kind}{where}{''.join(map(str, other))}")

figure, (left, right) = plt.subplots(
    1, 2, figsize=(13, 4.8), layout="constrained", width_ratios=(1.7, 1)
)
colors = dict(zip(shares, plt.get_cmap("tab10").colors, strict=False))
left.stackplot(rows, shares.values(), colors=[colors[name] for name in shares], alpha=0.85)
heights = np.cumsum(list(shares.values()), axis=0)
for height, (name, share) in zip(heights, shares.items(), strict=True):
    at = int(np.median(np.flatnonzero(share)))
    left.text(rows[at], height[at] - share[at] / 2, str(name), ha="center", va="center")
signs = {"born": "^", "died": "v", "split": "D", "merged": "s"}
for kind, sign in signs.items():
    told = [event for event in model.events_ if event[0] == kind]
    if told:
        places = [event[2] for event in told]
        left.scatter(
            places, np.full(len(told), 1.03), marker=sign, s=60, label=kind,
            c=[colors[event[1]] for event in told], edgecolors="black", clip_on=False,
        )  # fmt: skip
left.set(xlim=(0, N), ylim=(0, 1), xlabel="rows seen", ylabel="share of the weight")
left.set_title("clusters over time, by their permanent numbers", pad=18)
legend = left.legend(loc="lower right", ncols=4)
for handle in legend.legend_handles:
    handle.set_facecolor("white")
for name, path in paths.items():
    path = np.array(path)
    right.plot(*path.T, color=colors[name], linewidth=3, solid_capstyle="round")
    right.scatter(*path[0], color=colors[name], edgecolors="black", zorder=3)
    right.annotate(str(name), path[0], xytext=(6, 6), textcoords="offset points")
right.set(xlabel="x", ylabel="y", title="paths of the centres, from their first place")
right.set_aspect("equal")
figure.savefig("drift.png", dpi=110)
