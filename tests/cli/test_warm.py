"""``hardbayes warm``: everything is fitted once, and what was compiled is told."""

import re

from hardbayes.cli import main, warm
from hardbayes.core.compiling import cache_folder


def test_it_tells_what_it_compiled_and_where(monkeypatch, capsys):
    every = dict(warm.every_fit())
    assert {name.split(",")[0] for name in every} >= {"DPMeans", "HDPMeans", "GraphDPMeans"}
    chosen = ["GraphDPMeans", "HDPTopics"]
    fitted = []
    for name in chosen:
        every[name] = lambda name=name, fit=every[name]: fitted.append((name, fit().n_features_in_))
    monkeypatch.setattr(warm, "every_fit", lambda: ((name, every[name]) for name in chosen))
    assert main(["warm"]) == 0
    captured = capsys.readouterr()
    assert [name for name, _ in fitted] == chosen and captured.out == ""
    said = re.sub(r"\d[\d,.]*", "N", captured.err).replace("kernels", "kernel").splitlines()
    assert "GraphDPMeans: N kernel compiled, N s" in said
    assert "HDPTopics: N kernel compiled, N s" in said
    assert captured.err.rstrip().endswith(cache_folder())


def test_the_second_time_nothing_is_compiled(monkeypatch, capsys):
    graph = dict(warm.every_fit())["GraphDPMeans"]
    monkeypatch.setattr(warm, "every_fit", lambda: iter([("graph", graph)]))
    main(["warm"])
    capsys.readouterr()
    assert main(["warm"]) == 0
    assert "0 kernels compiled" in capsys.readouterr().err
