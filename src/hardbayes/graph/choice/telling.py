"""What is said of components that stay whole."""

import numpy as np

from hardbayes.core.alone import NOTHING_COMPARED, ONE_CLUSTER, Nearest, alone_sentences
from hardbayes.core.loop import counted
from hardbayes.graph.choice.rule import FEWEST, Choice


def undivided_sentence(choice: Choice, ratio: bool) -> str:
    """Return why no component is divided, which number came nearest, and how to get it."""
    n_components = len(choice.whole)
    found = ONE_CLUSTER if n_components == 1 else "the connected components are the clusters"
    cut = ", cut='ratio'" if ratio else ""
    any_number = f"GraphDPMeans(n_clusters=k{cut})"
    nearest = choice.nearest
    if nearest is None:
        return alone_sentences(NOTHING_COMPARED.format("clusters"), found, None, any_number)
    why = "No division stood out from random graphs with the same degrees"
    if not choice.tests:
        why = "No clusters shorten a description of this graph"
    elif any(test.is_cloud for test in choice.tests.values()):
        why = "No division stood out from neighbour graphs of rows in one cloud"
    evidence = f"modularity {nearest.modularity:.3g}{_reached(choice)}"
    call = f"GraphDPMeans({nearest.penalty:.4g}{cut})"
    return alone_sentences(why, found, Nearest(nearest.k, evidence, call), any_number)


def _reached(choice: Choice) -> str:
    if len(choice.whole) > 1 or not choice.tests:
        return ""
    test = choice.tests[0]
    return (
        f", where the highest found was {test.highest:.3g} and random graphs had {test.reached:.3g}"
    )


def components_sentence(choice: Choice) -> str:
    """Return which components stay whole where others are divided; there are some."""
    is_large = choice.sizes >= FEWEST
    whole = choice.whole & is_large
    n_large = int(np.count_nonzero(is_large))
    return (
        f"Of {counted(n_large, 'connected component')} with more than {FEWEST - 1} vertices, "
        f"{np.count_nonzero(whole)} stayed whole, the largest of "
        f"{int(choice.sizes[whole].max())} vertices: no division of them stood out from random "
        "graphs with the same degrees, or from neighbour graphs of rows in one cloud."
    )
