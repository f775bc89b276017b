"""What is said of components that stay whole."""

import numpy as np

from hardbayes.core.loop import counted
from hardbayes.graph.choice.rule import FEWEST, Choice


def undivided_sentence(choice: Choice, ratio: bool) -> str:
    """Return why no component is divided, which number came nearest, and how to get it."""
    n_components = len(choice.whole)
    head = "One cluster" if n_components == 1 else "The connected components are the clusters"
    nearest = choice.nearest
    if nearest is None:
        return f"{head}: there are no clusters to compare at any penalty."
    cut = ", cut='ratio'" if ratio else ""
    why = "no division stood out from random graphs with the same degrees"
    if not choice.tests:
        why = "no clusters shorten a description of this graph"
    return (
        f"{head}: {why}. Nearest came "
        f"{nearest.k} clusters, of modularity {nearest.modularity:.3g}{_reached(choice)}. "
        f"To use about {nearest.k} clusters: GraphDPMeans({nearest.penalty:.4g}{cut})."
    )


def _reached(choice: Choice) -> str:
    if len(choice.whole) > 1 or not choice.tests:
        return ""
    test = choice.tests[0]
    return (
        f", where the highest found was {test.highest:.3g} and random graphs had {test.reached:.3g}"
    )


def components_sentence(choice: Choice) -> str:
    """Return which components stay whole where others are divided; else nothing."""
    is_large = choice.sizes >= FEWEST
    whole = choice.whole & is_large
    if not whole.any():
        return ""
    n_large = int(np.count_nonzero(is_large))
    return (
        f"Of {counted(n_large, 'connected component')} with more than {FEWEST - 1} vertices, "
        f"{np.count_nonzero(whole)} stayed whole, the largest of "
        f"{int(choice.sizes[whole].max())} vertices: no division of them stood out from random "
        "graphs with the same degrees."
    )
