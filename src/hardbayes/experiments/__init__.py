"""The experiments of the papers, repeated: every table and figure, beside what the papers print.

KJ is Kulis & Jordan 2012, JKJ Jiang, Kulis & Jordan 2012, BKJ Broderick, Kulis & Jordan 2013. An
experiment is a file with a function ``run``; `registry` lists them.
"""

from hardbayes.experiments.registry import EXPERIMENTS, Experiment, find
from hardbayes.experiments.results import Asked, Claim, Result

__all__ = ["EXPERIMENTS", "Asked", "Claim", "Experiment", "Result", "find"]
