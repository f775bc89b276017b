"""Plot of topics: the words that describe them, sizes, and how many documents use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardbayes.core.loop import counted
from hardbayes.plot._drawing import COLORS, LITERAL, check_estimator, check_matplotlib
from hardbayes.topics.estimator import top_word_ids

_MAX_TOPICS = 24
_COLUMNS = 4


class TopicsDisplay:
    """Plot of the words that describe each topic, with its size and prevalence.

    Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    words : list of lists of str
        The words that describe each topic, the best first.
    shares : list of array-like
        Their shares of the topic.
    weights : array-like of shape (n_topics,)
        The share of each topic in all words.
    prevalence : array-like of shape (n_topics,)
        The share of documents that use each topic.
    n_topics : int or None, default=None
        Number of topics of the model, where not all of them are drawn.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each topic drawn.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from hardbayes import HDPTopics
    >>> from hardbayes.datasets import make_bars
    >>> from hardbayes.plot import TopicsDisplay
    >>> X, _, _ = make_bars(100, random_state=0)
    >>> model = HDPTopics(random_state=0).fit(X)
    >>> display = TopicsDisplay.from_estimator(model, n_words=5)  # doctest: +SKIP
    """

    axes_: list[Any]
    figure_: Any

    def __init__(
        self,
        words: list[list[str]],
        shares: Sequence[ArrayLike],
        weights: ArrayLike,
        prevalence: ArrayLike,
        *,
        n_topics: int | None = None,
    ) -> None:
        self.words = words
        self.shares = [np.asarray(each) for each in shares]
        self.weights: NDArray[Any] = np.asarray(weights)
        self.prevalence: NDArray[Any] = np.asarray(prevalence)
        self.n_topics = len(words) if n_topics is None else n_topics

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        feature_names: Any = None,
        *,
        n_words: int = 8,
        max_topics: int = _MAX_TOPICS,
        figure: Any = None,
    ) -> TopicsDisplay:
        """Draw the topics of a fitted model.

        Parameters
        ----------
        estimator : HDPTopics
            The fitted model.
        feature_names : array-like of shape (n_features_in_,) or None, default=None
            The words of the vocabulary; see `HDPTopics.top_words`.
        n_words : int, default=8
            Number of words of each topic.
        max_topics : int, default=24
            Number of topics drawn, the heaviest first.
        figure : matplotlib Figure or None, default=None
            Where to draw; None makes a new pyplot figure.

        Returns
        -------
        display : TopicsDisplay
            With the figure.
        """
        caller = f"{cls.__name__}.from_estimator"
        check_estimator(estimator, "topic_weights_", caller, "Pass a fitted HDPTopics.")
        words = estimator.top_words(n_words, feature_names)[:max_topics]
        best = top_word_ids(estimator, n_words)[:max_topics]
        shares = list(np.take_along_axis(estimator.components_[:max_topics], best, axis=1))
        n_documents = max(1, int((estimator.labels_ >= 0).sum()))
        total = estimator.topic_weights_.sum()
        display = cls(
            words,
            shares,
            estimator.topic_weights_[:max_topics] / total,
            estimator.topic_documents_[:max_topics] / n_documents,
            n_topics=estimator.n_topics_,
        )
        return display.plot(figure=figure)

    def plot(self, *, figure: Any = None) -> TopicsDisplay:
        """Draw the display and return it. Parameters are those of :meth:`from_estimator`."""
        check_matplotlib(f"{type(self).__name__}.plot")
        columns = min(_COLUMNS, len(self.words))
        rows = -(-len(self.words) // columns)
        if figure is None:
            import matplotlib.pyplot as plt

            height = 0.9 + 0.19 * max(len(own) for own in self.words)
            figure = plt.figure(figsize=(2.7 * columns, height * rows + 0.4), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        widest = max(float(own.max()) for own in self.shares)
        for topic, ax in enumerate(grid[: len(self.words)]):
            self._draw(ax, topic, widest)
        for ax in grid[len(self.words) :]:
            ax.set_axis_off()
        shown = f", the heaviest {len(self.words)}" if len(self.words) < self.n_topics else ""
        figure.suptitle(counted(self.n_topics, "topic") + shown)
        self.figure_, self.axes_ = figure, list(grid[: len(self.words)])
        return self

    def _draw(self, ax: Any, topic: int, widest: float) -> None:
        words, shares = self.words[topic], self.shares[topic]
        places = np.arange(len(words))
        ax.barh(places, shares, color=COLORS[topic % len(COLORS)], height=0.8, alpha=0.45)
        for place, word in zip(places, words, strict=True):
            ax.text(0.015 * widest, place, word, va="center", fontsize=9, **LITERAL)
        ax.set(xlim=(0, 1.05 * widest), ylim=(len(words) - 0.4, -0.6), yticks=[], xticks=[])
        ax.spines[["top", "right", "bottom"]].set_visible(False)
        weight, use = self.weights[topic], self.prevalence[topic]
        ax.set_title(
            f"{topic}: {weight:.0%} of words\nin {use:.0%} of documents", fontsize=9, loc="left"
        )
