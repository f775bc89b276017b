"""Divergences: how dear a row is at a centre."""

from hardbayes.geometry.base import Geometry
from hardbayes.geometry.kullback_leibler import KullbackLeibler
from hardbayes.geometry.squared_euclidean import SquaredEuclidean

GEOMETRIES: dict[str, type[Geometry]] = {
    "squared_euclidean": SquaredEuclidean,
    "kl": KullbackLeibler,
}


def geometry_for(divergence: str | Geometry) -> Geometry:
    """Return the geometry of this name; a geometry object is returned as it is."""
    return divergence if isinstance(divergence, Geometry) else GEOMETRIES[divergence]()


__all__ = ["GEOMETRIES", "Geometry", "KullbackLeibler", "SquaredEuclidean", "geometry_for"]
