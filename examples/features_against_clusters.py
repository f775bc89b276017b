"""
Features against clusters
=========================

Digits as overlapping features and as clusters, after Broderick, Kulis & Jordan 2013, 5.2.

Two features and a base divide the pictures into four groups with three components; k-means needs
four centres for four groups, and finds other groups.
"""

from collections import Counter

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from hardbayes import BPMeans, KFeatures

digits = load_digits()
X = digits.data / 16.0

features = KFeatures(3, random_state=0).fit(X)
combinations = ["".join(str(int(bit)) for bit in row) for row in features.membership_]
print(f"3 features: fit term {features.inertia_:.0f}")
for combination, count in sorted(Counter(combinations).items()):
    own = digits.target[np.array(combinations) == combination]
    common = ", ".join(f"{digit} ({n})" for digit, n in Counter(own.tolist()).most_common(3))
    print(f"  {combination}: {count:4d} pictures, most of them {common}")

for k in (3, 4):
    clusters = KMeans(k, n_init=10, random_state=0).fit(X)
    print(
        f"{k} clusters: fit term {clusters.inertia_:.0f}, pictures {np.bincount(clusters.labels_)}"
    )

penalty = 400.0
model = BPMeans(penalty, random_state=0).fit(X)
print(
    f"at a penalty of {penalty:.0f}: {model.n_components_} features, fit term {model.inertia_:.0f}"
)

try:
    from hardbayes.plot import ComponentsDisplay

    display = ComponentsDisplay.from_estimator(model, X, image_shape=(8, 8))
except ImportError as error:
    print(error)
else:
    display.figure_.savefig("digits.png", dpi=100)
