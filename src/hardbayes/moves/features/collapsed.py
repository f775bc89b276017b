"""A sweep with components integrated out, as a step of its own and as a move."""

from hardbayes.executors.features.protocol import Allocation, FeatureRows, Sums
from hardbayes.moves.features.proposals import LocalOptimum, Proposal
from hardbayes.moves.features.refitting import refitted
from hardbayes.structure.feature_allocation import FeatureAllocation


def swept_collapsed(
    rows: FeatureRows, structure: FeatureAllocation, allocation: Allocation
) -> tuple[Allocation, Sums]:
    """Return a copy after one collapsed sweep, and its sums; IN components at least squares."""
    gram = rows.collect(allocation).gram
    swept, changed = rows.collapsed_sweep(
        allocation, gram, structure.penalty, structure.max_components
    )
    return swept, rows.collect(swept)._replace(changed=changed)


def sweep_collapsed(
    rows: FeatureRows, structure: FeatureAllocation, optimum: LocalOptimum, _: object = None
) -> Proposal | None:
    """Propose the allocation after a collapsed sweep, if that changes any row."""
    swept, sums = swept_collapsed(rows, structure, optimum.allocation)
    if sums.changed == 0:
        return None
    # Components have drifted a little from least squares, in as many updates as there are rows.
    swept = refitted(rows, swept, sums)
    before = structure.total(optimum.sums.fit, len(optimum.allocation.components))
    return Proposal(structure.total(sums.fit, len(swept.components)) - before, swept)
