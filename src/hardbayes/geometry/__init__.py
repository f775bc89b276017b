"""Divergences: the cost of a row at a centre."""

from hardbayes.geometry.base import Geometry
from hardbayes.geometry.cosine import Cosine
from hardbayes.geometry.exponential_family import ExponentialFamily
from hardbayes.geometry.itakura_saito import ItakuraSaito
from hardbayes.geometry.kullback_leibler import KullbackLeibler
from hardbayes.geometry.logistic import Logistic
from hardbayes.geometry.mahalanobis import Mahalanobis
from hardbayes.geometry.poisson import Poisson
from hardbayes.geometry.squared_euclidean import SquaredEuclidean

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
