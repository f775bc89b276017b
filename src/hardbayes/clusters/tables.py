"""Which table goes with which costs."""

from hardbayes.clusters.affine_table import AffineTable
from hardbayes.clusters.distance_table import DistanceTable

#: By the kind of costs of a layout.
TABLES: dict[str, type[AffineTable] | type[DistanceTable]] = {
    "distance": DistanceTable,
    "affine": AffineTable,
}
