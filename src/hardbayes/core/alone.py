"""What is said where there is one cluster, one topic or no feature.

The same words for every model: why, which number came nearest and by what evidence, and the call
that takes it. Where there was nothing to compare, how to have any number.
"""

from typing import NamedTuple

NOTHING_COMPARED = "There is no other number of {} to compare"
ONE_CLUSTER = "there is one cluster"


class Nearest(NamedTuple):
    """The number that came nearest to be chosen."""

    k: int
    evidence: str
    call: str  # the code that takes it
    of: str = ""  # whose clusters they are, if not the model's own


def alone_sentences(
    why: str, found: str, nearest: Nearest | None, any_number: str, what: str = "clusters"
) -> str:
    """Return why ``found`` is what was found, and how to get more.

    ``any_number``: the code that takes k, for where nothing was compared.
    """
    head = f"{why}, so {found}."
    if nearest is None:
        return f"{head} For k {what} nevertheless: {any_number}."
    k, evidence, call, of = nearest
    number = f"{k} {what if k > 1 else what.removesuffix('s')}"
    return f"{head} Nearest came {number}{of}: {evidence}. To use {number}: {call}."
