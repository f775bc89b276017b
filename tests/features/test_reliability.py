"""What must hold of feature models when things go wrong, and scikit-learn's contract."""

import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from hardbayes import BPMeans, KFeatures, load, save
from hardbayes.datasets import make_dice, make_tabletop
from hardbayes.features import starts as feature_restarts
from tests.conftest import quiet_fit

# Starts draw rows by number, so copies of a row are drawn otherwise than one heavy row: the
# objective is the same, but the local optimum found need not be.
BY_CHANCE = {
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}


@pytest.mark.filterwarnings("ignore:Converged after .* No number of features:UserWarning")
@pytest.mark.filterwarnings("ignore:Converged after .* too few rows to confirm:UserWarning")
@parametrize_with_checks(
    [KFeatures(n_init=2), BPMeans(n_init=2), BPMeans(1.0, method="collapsed", n_init=2)]
)
def test_scikit_learn_checks(estimator, check):
    if check.func.__name__ in BY_CHANCE:
        pytest.xfail("copies of a row are drawn otherwise than one heavy row")
    check(estimator)


@pytest.fixture(scope="module")
def dice():
    return make_dice(40, random_state=0)[0]


BAD = [
    (BPMeans, "component_penalty", -1.0),
    (BPMeans, "component_penalty", "automatic"),
    (BPMeans, "component_penalty", float("nan")),
    (BPMeans, "max_components", 0),
    (BPMeans, "method", "gibbs"),
    (BPMeans, "search", "best"),
    (BPMeans, "n_init", 0),
    (BPMeans, "max_iter", 0),
    (BPMeans, "n_jobs", 0),
    (KFeatures, "n_components", 0),
    (KFeatures, "n_components", 2.5),
    (KFeatures, "search", None),
    (KFeatures, "n_init", "many"),
]


@pytest.mark.parametrize(("estimator", "name", "value"), BAD)
def test_parameters_are_checked(estimator, name, value, dice):
    model = estimator(**{name: value})
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {estimator.__name__} must be"):
        model.fit(dice)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_bad_cells_are_named(dice):
    X = dice.copy()
    X[3, 5] = np.nan
    with pytest.raises(ValueError, match="NaN at row 3, column 5"):
        BPMeans().fit(X)
    model = KFeatures(2, n_init=1).fit(dice)
    with pytest.raises(ValueError, match="NaN at row 3, column 5"):
        model.transform(X)


@pytest.mark.parametrize(
    ("membership", "sentence"),
    [
        ([[0.5, 0.0]], "zeros and ones. Got 0.5 at row 0, column 0"),
        ([[1, 0, 1]], "one column for each of the 2 features. Got 3 columns"),
    ],
)
def test_inverse_transform_takes_memberships_only(membership, sentence, dice):
    model = KFeatures(2, n_init=1, random_state=0).fit(dice)
    with pytest.raises(ValueError, match=re.escape(sentence)):
        model.inverse_transform(membership)


def test_weights_are_checked(dice):
    with pytest.raises(ValueError, match="at least one number > 0"):
        KFeatures().fit(dice, sample_weight=np.zeros(len(dice)))
    with pytest.raises(ValueError, match="one weight for each"):
        BPMeans().fit(dice, sample_weight=[1.0, 2.0])


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_scales_beyond_squares_are_refused(scale, dice):
    with pytest.raises(ValueError, match=r"(?i)fit float64|scale"):
        BPMeans(1.0).fit(dice * scale)


def test_a_penalty_lost_beside_the_data_is_refused(dice):
    with pytest.raises(ValueError, match=r"'component_penalty' parameter.*too small"):
        BPMeans(1e-300).fit(dice * 1e10)


def test_far_rows_are_refused_by_a_fitted_model(dice):
    model = KFeatures(2, n_init=1).fit(dice)
    with pytest.raises(ValueError, match="do not fit float64"):
        model.transform(dice * 1e200)


def test_an_interrupt_leaves_the_old_model(dice, monkeypatch):
    model = BPMeans(20.0, n_init=2, random_state=0).fit(dice)
    before = dict(vars(model))

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(feature_restarts, "refit_components", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(2 * dice)
    assert all(vars(model)[name] is value for name, value in before.items())
    fresh = KFeatures(2)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(dice)
    assert not hasattr(fresh, "n_features_in_")
    monkeypatch.undo()
    model.fit(dice)


def test_sweeps_that_run_out_give_a_warning_and_a_model():
    X, _ = make_tabletop(80, noise=0.5, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model = KFeatures(5, max_iter=1, n_init=1, random_state=0).fit(X)
    assert not model.converged_
    np.testing.assert_array_equal(model.transform(X), model.membership_)
    residual = X - model.inverse_transform(model.membership_)
    assert (residual**2).sum() == pytest.approx(model.objective_)


@pytest.mark.parametrize("max_iter", [1, 3])
def test_perturbations_of_noise_end(max_iter, capfd, monkeypatch):
    monkeypatch.setattr(feature_restarts, "MAX_PERTURBATIONS", 10)
    X = np.random.default_rng(0).standard_normal((150, 8))
    model = BPMeans(3.0, max_iter=max_iter, random_state=0, verbose=1)
    quiet_fit(model, X)
    # Nearly every round of eight helps, and takes most of the sweeps that ten may take.
    assert 1 <= capfd.readouterr().err.count("perturbed") <= 2
    assert (np.diff(model.objective_history_) <= 0).all()


def test_a_cap_that_binds_gives_a_warning():
    X, _ = make_tabletop(50, random_state=0)
    with pytest.warns(ConvergenceWarning, match="cap of 2 features"):
        model = BPMeans(1.0, max_components=2, random_state=0).fit(X)
    assert model.n_components_ == 2
    assert model.converged_


def test_parameters_and_rows_are_left_alone(dice):
    X = dice.copy()
    model = BPMeans("auto", n_init=2)
    before = dict(model.get_params())
    model.fit(X)
    assert model.get_params() == before
    np.testing.assert_array_equal(X, dice)


def test_the_global_stream_is_left_alone(dice):
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    KFeatures(2, n_init=2).fit(dice)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_verbose_reports_and_silence_is_silent(dice, capfd):
    BPMeans("auto", n_init=2, random_state=0).fit(dice)
    KFeatures(2, n_init=2, random_state=0).fit(dice)
    out, err = capfd.readouterr()
    assert out == err == ""
    BPMeans("auto", n_init=2, random_state=0, verbose=1).fit(dice)
    out, err = capfd.readouterr()
    assert out == ""
    assert "[BPMeans] penalty" in err and "4 features, objective" in err


def test_pipelines_names_and_frames(dice):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(dice, columns=[f"pixel {j}" for j in range(dice.shape[1])])
    model = KFeatures(3, n_init=2, random_state=0).set_output(transform="pandas").fit(frame)
    assert list(model.feature_names_in_[:2]) == ["pixel 0", "pixel 1"]
    names = ["kfeatures0", "kfeatures1", "kfeatures2"]
    assert list(model.get_feature_names_out()) == names
    assert list(model.transform(frame).columns) == names
    pipe = make_pipeline(StandardScaler(), clone(model).set_output(transform="default"))
    assert pipe.fit_transform(dice).shape == (40, 3)


@pytest.mark.parametrize("model", [KFeatures(3, n_init=2), BPMeans(20.0, n_init=2)], ids=str)
def test_files_and_pickles(model, dice, tmp_path):
    with pytest.warns(UserWarning, match="is not fitted"):
        save(model, tmp_path / "unfitted")
    assert load(tmp_path / "unfitted").get_params() == model.get_params()
    model.fit(dice)
    save(model, tmp_path / "fitted")
    for same in (load(tmp_path / "fitted"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(same.transform(dice), model.transform(dice))
        np.testing.assert_array_equal(same.components_, model.components_)
        assert same.membership_.dtype == np.bool_
        assert same.objective_ == model.objective_
        assert same.status_ == model.status_


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: state.pop("membership_"),
        lambda state: state.pop("working_scale"),
        lambda state: state.update(n_components_=7),
        lambda state: state.update(working_components=np.zeros((3, 5))),
        lambda state: state.update(objective_="low"),
        lambda state: state.update(working_scale=0.0),
    ],
)
def test_states_that_contradict_themselves_are_refused(spoil, dice):
    model = KFeatures(3, n_init=1, random_state=0).fit(dice)
    state = model._get_state()
    spoil(state)
    with pytest.raises(ValueError, match="saved model"):
        KFeatures(3)._set_state(state)


def test_numba_waits_for_the_first_fit(run_python):
    run_python("""
        import sys
        import hardbayes
        hardbayes.BPMeans(), hardbayes.KFeatures()
        assert "numba" not in sys.modules
    """)
