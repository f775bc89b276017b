"""
Comparison with KMeans by the same objective
============================================

KMeans needs the number of clusters; the penalty decides which of its results is the best.
"""

from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from hardbayes import DPMeans, objective, penalty_for

X = StandardScaler().fit_transform(load_iris().data)
penalty = penalty_for(X, 3)
model = DPMeans(penalty, random_state=0).fit(X)
print(f"penalty {penalty:.2f}")
print(f"DPMeans       {model.n_clusters_:2d} clusters  objective {model.objective_:8.2f}")

for k in range(1, 9):
    labels = KMeans(k, n_init=10, random_state=0).fit_predict(X)
    print(f"KMeans        {k:2d} clusters  objective {objective(X, labels, penalty):8.2f}")
