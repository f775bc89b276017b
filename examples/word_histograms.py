"""Word histograms: Kullback-Leibler compares shares of words, with a prior for words not seen.

The published algorithm fails here: a cluster opened at one document is infinitely far from every
document with another word. It is drawn beside the default for that reason.
"""

from pictures import finish, side_by_side
from sklearn.metrics import normalized_mutual_info_score

from hardbayes import DPMeans, penalty_for
from hardbayes.datasets import make_word_histograms

counts, subjects = make_word_histograms(sparse=True, random_state=0)
k = len(set(subjects))
published = DPMeans(
    penalty_for(counts, k, divergence="kl"),
    divergence="kl",
    prior_weight=0.0,
    search="paper",
    max_clusters=50,
    random_state=0,
)
models = {
    "squared Euclidean": DPMeans(0.0, max_clusters=k, random_state=0),
    "KL as published": published,
    "KL, prior of 10 rows": DPMeans(0.0, max_clusters=k, divergence="kl", random_state=0),
}
figure, axes = side_by_side(list(models), width=10.0, sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(counts)
    score = normalized_mutual_info_score(subjects, model.labels_)
    sizes = sorted(model.cluster_weights_, reverse=True)
    ax.bar(range(len(sizes)), sizes, color="tab:blue")
    ax.set_title(f"{name}: NMI {score:.2f}", fontsize=10)
    ax.set_xlabel("cluster, largest first")
    print(f"{name:22s} {model.n_clusters_} clusters, NMI {score:.2f}")
axes[0].set_ylabel("documents")
finish(figure, "word_histograms")
