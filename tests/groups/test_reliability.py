"""HDPMeans under scikit-learn's checks, interrupts and threads."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from hardbayes import HDPMeans
from hardbayes.datasets import make_shared_gaussians
from tests.conftest import quiet_fit, run_check
from tests.interrupts import watching_calls


@parametrize_with_checks([HDPMeans(0.5), HDPMeans(search="paper")])
def test_scikit_learn_checks(estimator, check):
    run_check(estimator, check)


@pytest.mark.parametrize(
    "model",
    [
        HDPMeans(0.1, 0.3, search="paper", random_state=0, n_jobs=1),
        HDPMeans(0.1, 0.3, random_state=0, n_jobs=1),
    ],
    ids=["paper", "split-merge"],
)
def test_interrupts_leave_the_model_as_it_was(model):
    X, groups, _ = make_shared_gaussians(8, random_state=0)
    expected = quiet_fit(clone(model), X, groups=groups)
    again = clone(model)
    with watching_calls() as count:
        quiet_fit(again, X, groups=groups)
    for moment in np.unique(np.linspace(1, count[0], 12).astype(int)):
        first, second = clone(model), quiet_fit(clone(model), X[:9])
        for stopped in (first, second):
            before = dict(vars(stopped))
            with pytest.raises(KeyboardInterrupt), watching_calls(at=moment):
                quiet_fit(stopped, X, groups=groups)
            assert vars(stopped).keys() == before.keys()
            assert all(value is before[name] for name, value in vars(stopped).items())
    first = quiet_fit(first, X, groups=groups)
    np.testing.assert_array_equal(first.labels_, expected.labels_)


def test_interrupts_of_the_automatic_choice():
    X, groups, _ = make_shared_gaussians(30, 5, 1, 12, random_state=0)
    model = HDPMeans(random_state=0, n_jobs=1)
    expected = clone(model).fit(X, groups=groups)
    with watching_calls() as count:
        model.fit(X, groups=groups)
    for moment in np.linspace(1, count[0], 3).astype(int):
        stopped = clone(model)
        with pytest.raises(KeyboardInterrupt), watching_calls(at=moment):
            stopped.fit(X, groups=groups)
        assert vars(stopped).keys() == vars(clone(model)).keys()
    np.testing.assert_array_equal(stopped.fit(X, groups=groups).labels_, expected.labels_)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forks_fit_what_their_parent_does(run_python):
    out = run_python(
        """
        import os, warnings
        from hardbayes import HDPMeans
        from hardbayes.datasets import make_shared_gaussians
        warnings.simplefilter("ignore")
        X, groups, _ = make_shared_gaussians(10, random_state=0)

        def fit():
            return HDPMeans(random_state=0, n_jobs=2).fit(X, groups=groups).labels_.tobytes()

        expected = fit()
        pid = os.fork()
        if pid == 0:
            os._exit(0 if fit() == expected else 3)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), fit() == expected)
        """,
        timeout=60,
    )
    assert out.split() == ["0", "True"]


def test_several_threads_fit_at_once():
    X, groups, _ = make_shared_gaussians(10, random_state=0)
    alone = HDPMeans(random_state=0).fit(X, groups=groups)
    with ThreadPoolExecutor(4) as threads:
        fits = [threads.submit(HDPMeans(random_state=0).fit, X, groups=groups) for _ in range(4)]
        for fit in fits:
            np.testing.assert_array_equal(fit.result().labels_, alone.labels_)


def test_inputs_are_not_changed():
    X, groups, _ = make_shared_gaussians(10, random_state=0)
    weights = np.ones(len(X))
    for array in (X, groups, weights):
        array.flags.writeable = False
    HDPMeans(random_state=0).fit(X, groups=groups, sample_weight=weights)


@pytest.mark.parametrize(("scale", "offset"), [(1e-100, 0.0), (1e100, 0.0), (1.0, 1e9)])
def test_extreme_scales_and_offsets(scale, offset):
    X, groups, _ = make_shared_gaussians(10, random_state=0)
    X = np.round(X * 2**12) / 2**12
    expected = HDPMeans(0.125, 0.25, random_state=0).fit(X, groups=groups)
    factor = 2.0 ** np.round(np.log2(scale))
    model = HDPMeans(0.125 * factor**2, 0.25 * factor**2, random_state=0)
    model.fit(X * factor + offset, groups=groups)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("name", ["local_penalty", "global_penalty"])
@pytest.mark.parametrize("value", [-1.0, "none", None, np.nan])
def test_bad_penalties_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of HDPMeans"):
        HDPMeans(**{name: value}).fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match=f"The '{name}' parameter, 1e-200, is too small"):
        HDPMeans(**{"local_penalty": 1.0, "global_penalty": 1.0, name: 1e-200}).fit(
            np.array([[0.0], [1e60]])
        )
