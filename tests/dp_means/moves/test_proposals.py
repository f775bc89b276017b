"""Every move looks and changes nothing; what it proposes changes the objective as it says."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.geometry import GEOMETRIES
from hardbayes.dp_means.moves import PartitionProposal
from hardbayes.dp_means.moves.exchanges import propose_exchanges
from hardbayes.dp_means.moves.merges import propose_merges
from hardbayes.dp_means.moves.single_rows import border_rows, propose_row_moves
from hardbayes.dp_means.moves.splits import divide_clusters, propose_splits
from tests.dp_means.moves.cases import heaps_for, labelled, random_case

NAMES = sorted(GEOMETRIES)


def divided(case, rng):
    return divide_clusters(case.state, case.partition, case.passes.refine, rng, None)


def row_moves(ids_of, max_passes):
    def propose(case, rng):
        ids = ids_of(case)
        return propose_row_moves(case.state, case.partition, case.passes.move_rows, ids, max_passes)

    return propose


MOVES = {
    "merges": lambda case, rng: propose_merges(case.state, case.partition),
    "splits": lambda case, rng: propose_splits(case.state, case.partition, divided(case, rng)),
    "exchanges": lambda case, rng: propose_exchanges(
        case.state, case.partition, case.passes.refine, divided(case, rng), 8
    ),
    "single rows": row_moves(lambda case: np.arange(case.state.rows.n_rows), 1),
    "single rows, some": row_moves(lambda case: np.arange(3, 40, 2)[::-1].copy(), 1),
    "single rows, in passes": row_moves(
        lambda case: border_rows(case.state, case.partition, case.passes.border_slack), 8
    ),
}
PENALTIES = {
    "squared_euclidean": (0.05, 1.0, 20.0),
    "cosine": (0.01, 0.1, 2.0),
    "poisson": (0.1, 2.0, 20.0),
    "kl": (0.01, 0.1, 2.0),
    "logistic": (0.1, 1.0, 10.0),
    "itakura_saito": (0.1, 2.0, 20.0),
}


def everything(state):
    """Copies of all that a fit consists of."""
    table, rows = state._table, state.rows
    arrays = {
        name: getattr(table, name).copy()
        for name in ("rank", "exact", "exact_offset", "theta", "offset", "_moved")
    }
    for name, part in zip("abcd", rows.totals(table.n_slots), strict=False):
        arrays[name] = part.copy()
    return arrays | {"labels": rows.labels().copy(), "numbers": state.numbers()}


def assert_unchanged(state, before):
    after = everything(state)
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array, err_msg=name)


def assert_sound(proposal, state):
    """Rows go once each, and only to clusters that there are or that open."""
    k, n_new = state.n_clusters, 0 if proposal.opened is None else len(proposal.opened)
    assert proposal.change < 0
    assert len(np.unique(proposal.ids)) == len(proposal.ids) == len(proposal.numbers)
    if len(proposal.numbers):
        assert proposal.numbers.min() >= -1 and proposal.numbers.max() < k + n_new
    if proposal.united is not None:
        assert proposal.united.shape == (k,)
        assert (proposal.united <= np.arange(k)).all()
        assert (proposal.united[proposal.united] == proposal.united).all()


def assert_keeps_the_contract(case, move, seed):
    """Return what a move proposes, applied, or None."""
    state = case.state
    state.refit()
    state._table.view()
    before, value = everything(state), case.value()
    proposal = MOVES[move](case, np.random.RandomState(seed))
    assert_unchanged(state, before)
    if proposal is None:
        return None
    assert_sound(proposal, state)
    n_before = state.n_clusters
    state.apply(proposal)
    assert case.value() - value == pytest.approx(proposal.change, rel=1e-7, abs=1e-9 * value)
    assert state.n_clusters <= max(case.partition.max_clusters, n_before)
    labels, ids = state.numbers(), proposal.ids
    if len(ids):  # rows that were not named stay together
        others = np.setdiff1d(np.arange(len(labels)), ids)
        pairs = np.unique(np.stack([before["numbers"][others], labels[others]]), axis=1)
        assert len(np.unique(pairs[0])) == pairs.shape[1]
    state.refit()
    _, centres = state.centres()
    np.testing.assert_allclose(
        state._table.exact[state._table.slots], case.partition.affine_form(centres).exact
    )
    return proposal


@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
@pytest.mark.parametrize("divergence", NAMES)
@pytest.mark.parametrize("move", MOVES)
def test_a_proposal_changes_nothing_and_tells_its_change(move, divergence, prior_weight):
    n_found = 0
    for seed, penalty in enumerate(PENALTIES[divergence]):
        for weighted, cap in ((False, None), (True, 5), (True, 6)):
            X, weights, labels = heaps_for(divergence, 10 * seed + weighted)
            weights = weights if weighted else None
            arguments = X, weights, labels, divergence, penalty, cap
            with labelled(*arguments, prior_weight=prior_weight) as case:
                n_found += assert_keeps_the_contract(case, move, seed) is not None
    assert n_found > 0


@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson"])
@pytest.mark.parametrize("move", MOVES)
def test_a_proposal_for_sparse_rows(move, divergence):
    n_found = 0
    for seed, penalty in enumerate(PENALTIES[divergence]):
        X, weights, labels = heaps_for(divergence, seed)
        X[np.random.default_rng(seed).random(X.shape) < 0.3] = 0.0
        arguments = sparse.csr_array(X), weights, labels, divergence, penalty
        with labelled(*arguments, prior_weight=1.0) as case:
            n_found += assert_keeps_the_contract(case, move, seed) is not None
    assert n_found > 0


@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson"])
@pytest.mark.parametrize("cap", [None, 6, 7])
@pytest.mark.parametrize("penalty", [1.0, 30.0, 1000.0])
def test_moves_lower_the_objective_and_keep_the_cap(divergence, cap, penalty):
    """One after the other, each from where the last one led."""
    n_taken = 0
    for seed in range(6):
        with labelled(*random_case(seed), divergence, penalty, cap) as case:
            for move in MOVES:
                n_taken += assert_keeps_the_contract(case, move, seed) is not None
                assert cap is None or case.state.n_clusters <= cap
    assert n_taken > 0


def test_a_proposal_names_no_rows_unless_told():
    proposal = PartitionProposal(-1.0)
    assert len(proposal.ids) == len(proposal.numbers) == 0
    assert proposal.opened is None and proposal.united is None
    assert proposal.n_splits == proposal.n_merges == 0
