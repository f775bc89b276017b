"""Divergences: the cost of a row at a centre."""

from hardbayes.core.geometry.base import Geometry
from hardbayes.core.geometry.cosine import Cosine
from hardbayes.core.geometry.exponential_family import ExponentialFamily
from hardbayes.core.geometry.itakura_saito import ItakuraSaito
from hardbayes.core.geometry.kullback_leibler import KullbackLeibler
from hardbayes.core.geometry.logistic import Logistic
from hardbayes.core.geometry.mahalanobis import Mahalanobis
from hardbayes.core.geometry.poisson import Poisson
from hardbayes.core.geometry.squared_euclidean import SquaredEuclidean

GEOMETRIES: dict[str, type[Geometry]] = {
    "squared_euclidean": SquaredEuclidean,
    "kl": KullbackLeibler,
    "poisson": Poisson,
    "itakura_saito": ItakuraSaito,
    "logistic": Logistic,
    "cosine": Cosine,
}


def geometry_for(divergence: str | Geometry) -> Geometry:
    """Return the geometry of this name; a geometry object is returned unchanged."""
    return divergence if isinstance(divergence, Geometry) else GEOMETRIES[divergence]()


__all__ = [
    "GEOMETRIES",
    "Cosine",
    "ExponentialFamily",
    "Geometry",
    "ItakuraSaito",
    "KullbackLeibler",
    "Logistic",
    "Mahalanobis",
    "Poisson",
    "SquaredEuclidean",
    "geometry_for",
]
