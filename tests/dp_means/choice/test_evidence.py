"""What is told about a choice: attributes, the one warning, and what mends it."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hardbayes import DPMeans, load, penalty_path, save
from hardbayes.core.geometry import geometry_for
from hardbayes.dp_means.choice.automatic import COLUMNS, spread_sentence
from tests.conftest import quiet_fit
from tests.dp_means.choice.mixtures import gaussians_apart, one_gaussian, square

CLOUD = one_gaussian(np.random.default_rng(0), 150)


@pytest.fixture(scope="module")
def three():
    return DPMeans(random_state=0).fit(gaussians_apart(3, n=90, seed=5)[0])


@pytest.fixture(scope="module")
def undivided():
    return quiet_fit(DPMeans(random_state=0), CLOUD)


def test_the_table_holds_the_choice(three):
    table = three.penalty_choice_
    assert list(table) == list(COLUMNS)
    assert len({len(column) for column in table.values()}) == 1
    at = np.flatnonzero(table["chosen"])
    assert len(at) == 1 and table["n_clusters"][at[0]] == 3
    assert table["penalty"][at[0]] == three.cluster_penalty_
    assert table["width"][at[0]] == three.plateau_width_
    assert table["reference"][at[0]] == three.plateau_reference_
    assert table["p_value"][at[0]] < 0.01 and table["strength"][at[0]] > 1
    assert (np.diff(table["n_clusters"]) > 0).all() and (np.diff(table["penalty"]) < 0).all()


def test_none_is_chosen_in_one_cloud(undivided):
    table = undivided.penalty_choice_
    assert not table["chosen"].any() and (table["strength"] < 1).all()
    nearest = table["strength"].argmax()
    assert undivided.plateau_width_ == table["width"][nearest]
    assert undivided.plateau_reference_ == table["reference"][nearest]


@pytest.mark.parametrize("rows", ["three", "undivided", "constant"])
def test_files_keep_the_table(rows, request, tmp_path):
    model = DPMeans().fit(np.ones((5, 2))) if rows == "constant" else request.getfixturevalue(rows)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert back.status_ == model.status_
    for name, column in model.penalty_choice_.items():
        np.testing.assert_array_equal(back.penalty_choice_[name], column)
        assert back.penalty_choice_[name].dtype == column.dtype
    save(back, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_one_warning_says_what_came_nearest_and_how_to_get_it():
    model = DPMeans(random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(CLOUD)
    assert [w.category for w in caught] == [UserWarning]
    assert caught[0].filename == __file__
    message = str(caught[0].message)
    assert message == model.status_
    assert "No number of clusters stood out" in message
    k = int(re.search(r"Nearest came (\d+) clusters", message)[1])
    assert model.penalty_choice_["strength"].argmax() == list(
        model.penalty_choice_["n_clusters"]
    ).index(k)
    assert f"DPMeans(n_clusters={k})" in message and "spread" not in message
    call = re.search(r"To use \d+ clusters: (DPMeans\(.*?\)), or", message)[1]
    assert eval(call).fit(CLOUD).n_clusters_ == k  # noqa: S307 - the call of the message


@pytest.mark.parametrize(
    "options",
    [
        {"divergence": "kl", "max_clusters": 8},
        {"search": "paper"},
        {"method": "collapsed"},
        {"prior_weight": 1.0},
    ],
)
def test_the_call_repeats_the_other_parameters(options):
    X = np.random.default_rng(0).dirichlet(np.full(5, 40.0), 80)
    model = quiet_fit(DPMeans(random_state=0, **options), X)
    assert model.n_clusters_ == 1
    call = re.search(r"To use \d+ clusters: (DPMeans\(.*?\)), or", model.status_)[1]
    for name, value in options.items():
        assert f"{name}={value!r}" in call
    assert quiet_fit(eval(call), X).n_clusters_ > 1  # noqa: S307


def test_nothing_is_said_where_there_is_nothing_to_divide():
    model = DPMeans().fit(np.ones((30, 2)))  # warnings are errors here
    assert "so there is one cluster. For k clusters nevertheless" in model.status_
    assert len(model.penalty_choice_["n_clusters"]) == 0


def test_a_fit_that_did_not_converge_says_both():
    with pytest.warns(ConvergenceWarning, match="before it converged.*No number of clusters"):
        DPMeans(random_state=0, max_iter=1, init="k-means++").fit(CLOUD)


def test_columns_of_other_spreads_are_named():
    X = square(np.random.default_rng(0), 150) * [1.0, 1000.0]
    with pytest.warns(
        UserWarning, match="differ in spread by a factor of about 1,000,.*StandardScaler"
    ):
        DPMeans(random_state=0).fit(X)


def test_a_column_that_decides_alone_is_named():
    X = np.random.default_rng(0).standard_normal((150, 3))
    X[:, 2] = 50 * X[:, 2] + np.repeat([1000.0, 3000.0, 5000.0], 50)
    with pytest.warns(UserWarning, match=r"Column 2 of X has 100 % of the variance.*identifier"):
        model = DPMeans(random_state=0).fit(X)
    assert model.n_clusters_ == 3 and model.converged_
    assert model.status_.startswith("Converged after")
    DPMeans(random_state=0).fit(X[:, 2:])  # warnings are errors here: a single column is no remark
    DPMeans(model.cluster_penalty_).fit(X)  # nor is one where the penalty was given


def test_spreads_count_for_distances_only():
    X = np.random.default_rng(0).uniform(1, 2, (50, 2)) * [1.0, 1000.0]
    assert "spread" in spread_sentence(X, geometry_for("squared_euclidean"))
    assert spread_sentence(X, geometry_for("kl")) == ""
    constant = np.column_stack([X[:, 0], np.ones(50)])
    assert spread_sentence(constant, geometry_for("squared_euclidean")) == ""


@pytest.mark.parametrize("rows", ["clusters", "cloud"])
@pytest.mark.parametrize("search", ["split-merge", "paper"])
def test_path_and_model_agree(rows, search):
    X = CLOUD if rows == "cloud" else gaussians_apart(4, n=100, seed=1)[0]
    template = DPMeans(random_state=3, search=search)
    path = penalty_path(X, estimator=template, n_penalties=8)
    model = quiet_fit(template, X)
    assert path.suggest() == model.cluster_penalty_
    for name, column in model.penalty_choice_.items():
        np.testing.assert_array_equal(path.choice[name], column)


def test_malformed_tables_are_refused(three):
    state = three._get_state()
    for wrong in (np.zeros((3, 2)), np.zeros(7), np.zeros((1, len(COLUMNS)), np.int64)):
        with pytest.raises(ValueError, match="'penalty_choice_' is malformed"):
            DPMeans()._set_state({**state, "penalty_choice_": wrong})
