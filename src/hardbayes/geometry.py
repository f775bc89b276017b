"""Divergences to pass as ``divergence=``, and the class to derive one's own from.

The files are in `hardbayes.core.geometry`, one for each divergence.
"""

from hardbayes.core.geometry import (
    GEOMETRIES,
    Cosine,
    ExponentialFamily,
    Geometry,
    ItakuraSaito,
    KullbackLeibler,
    Logistic,
    Mahalanobis,
    Poisson,
    SquaredEuclidean,
    geometry_for,
)
from hardbayes.mixed.divergence import Mixed

__all__ = [
    "GEOMETRIES",
    "Cosine",
    "ExponentialFamily",
    "Geometry",
    "ItakuraSaito",
    "KullbackLeibler",
    "Logistic",
    "Mahalanobis",
    "Mixed",
    "Poisson",
    "SquaredEuclidean",
    "geometry_for",
]
