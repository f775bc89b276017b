"""
Comparison with KMeans by the same objective
============================================

KMeans needs the number of clusters; the penalty decides which of its results is the best.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from hardbayes import DPMeans, objective, penalty_path

X = StandardScaler().fit_transform(load_iris().data)
penalty = penalty_path(X, estimator=DPMeans(random_state=0)).for_n_clusters(3)
model = DPMeans(penalty, random_state=0).fit(X)
print(f"penalty {penalty:.2f}")
print(f"DPMeans       {model.n_clusters_:2d} clusters  objective {model.objective_:8.2f}")

numbers = range(1, 9)
theirs = []
for k in numbers:
    labels = KMeans(k, n_init=10, random_state=0).fit_predict(X)
    theirs.append(objective(X, labels, penalty))
    print(f"KMeans        {k:2d} clusters  objective {theirs[-1]:8.2f}")

figure, ax = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
ax.plot(numbers, theirs, marker="o", label="KMeans, best of ten, told the number")
ax.plot(model.n_clusters_, model.objective_, "*", markersize=15, label="DPMeans, told the penalty")
ax.set(xlabel="clusters", ylabel="objective")
ax.legend()
figure.savefig("compare_with_kmeans.png", dpi=110)
