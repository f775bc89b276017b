"""The one loop of every model.

A fit is a row of stages, each of which may lower the objective: rows decide and parameters follow,
or whole clusters or features move. As long as one does, the loop begins again with the first.
"""

from collections.abc import Callable, Sequence


def alternate(stages: Sequence[Callable[[], bool]], may_go_on: Callable[[], bool]) -> bool:
    """Go through the stages until none of them changes anything; return whether that was reached.

    ``may_go_on`` is called before each.
    """
    while True:
        for stage in stages:
            if not may_go_on():
                return False
            if stage():
                break
        else:
            return True
