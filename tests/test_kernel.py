"""KernelDPMeans and SpectralDPMeans as a whole: theorems, references, inputs and corners."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hardbayes import KernelDPMeans, SpectralDPMeans
from tests.conftest import run_check


@parametrize_with_checks(
    [
        KernelDPMeans(random_state=0),
        KernelDPMeans(0.5, kernel="linear", search="paper"),
        KernelDPMeans(n_landmarks=20, random_state=0),
        SpectralDPMeans(random_state=0),
        SpectralDPMeans(kernel="linear", random_state=0),
    ]
)
def test_sklearn_checks(estimator, check):
    run_check(estimator, check)
