"""fit_figure: both plots in one figure, without pyplot."""

import io

import matplotlib.pyplot as plt
import pytest

from hardbayes.plot import fit_figure


def test_holds_both_pictures(model, three_gaussians):
    figure = fit_figure(model, three_gaussians)
    titles = [ax.get_title() for ax in figure.axes]
    assert titles[0].startswith(f"{model.n_clusters_} clusters")
    assert titles[1].startswith("objective")


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_can_be_written(model, three_gaussians, kind, start):
    picture = io.BytesIO()
    fit_figure(model, three_gaussians).savefig(picture, format=kind)
    assert picture.getvalue().startswith(start)


def test_leaves_pyplot_alone(model, three_gaussians):
    fit_figure(model, three_gaussians)
    assert plt.get_fignums() == []


def test_missing_matplotlib_says_what_to_install(model, three_gaussians, no_matplotlib):
    with pytest.raises(ImportError, match=r'fit_figure needs matplotlib.*"hardbayes\[plot\]"'):
        fit_figure(model, three_gaussians)


def test_importing_the_package_does_not_import_matplotlib(run_python):
    run_python("""
        import sys
        import hardbayes, hardbayes.cli, hardbayes.plot
        assert "matplotlib" not in sys.modules
    """)
