"""
A table with categories
=======================

Customers by age, income, country, newsletter, purchases and stars, in segments that are not given.

`MixedDPMeans` takes the frame as it is: nothing is encoded, scaled or filled in.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from hardbayes import MixedDPMeans
from hardbayes.datasets import make_customers

columns, segment = make_customers(600, random_state=0)
frame = pd.DataFrame(columns)
model = MixedDPMeans(random_state=0).fit(frame)
score = adjusted_rand_score(segment, model.labels_)
print(f"{model.n_clusters_} clusters, ARI with the segments {score:.2f}")
for size, apart in zip(*(model.summary(frame)[name] for name in ("size", "apart")), strict=True):
    print(f"{size:4}  {apart}")

clusters = np.arange(model.n_clusters_)
shares = pd.DataFrame(model.cluster_centers_, columns=model.center_names_)
figure, axes = plt.subplots(1, 3, figsize=(9.0, 3.6), layout="constrained")
for k in clusters:
    own = frame[model.labels_ == k]
    axes[0].scatter(own["age"], own["income"] / 1000, s=10, label=str(k))
axes[0].legend(title="cluster", fontsize=8)
axes[0].set(title=f"{model.n_clusters_} clusters: ARI {score:.2f}", xlabel="age",
            ylabel="income in thousands")  # fmt: skip
left = np.zeros(len(clusters))
for country, grey in zip(("DE", "FR", "UK", "US"), ("0.2", "0.45", "0.65", "0.85"), strict=True):
    own = shares[f"country={country}"].to_numpy()
    axes[1].barh(clusters, own, left=left, label=country, color=grey)
    left += own
axes[1].set(title="share of each country", ylabel="cluster", yticks=clusters)
axes[1].legend(ncols=4, fontsize=8, loc="lower center", handlelength=1.0)
told = {"newsletter": "newsletter=yes", "nothing spent": "spent=0"}
for (label, name), shift in zip(told.items(), (-0.15, 0.15), strict=True):
    axes[2].barh(clusters + shift, shares[name], 0.28, label=label, color=str(0.5 + 2 * shift))
axes[2].set(title="yes or no, and nothing spent", xlim=(0, 1), yticks=clusters)
axes[2].legend(ncols=2, fontsize=8, loc="lower center", handlelength=1.0)
for ax in axes[1:]:
    ax.set_ylim(len(clusters) + 0.3, -0.6)
figure.savefig("mixed_table.png", dpi=110)
