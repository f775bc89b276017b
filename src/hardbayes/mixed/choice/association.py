"""Which columns are associated, for a user who is told that there is one cluster."""

from __future__ import annotations

from hardbayes.mixed.choice.references import binned, mutual_information, variables_of
from hardbayes.mixed.choice.rule import Choice
from hardbayes.mixed.search import Problem

# Mutual information, in nats, from which on columns are told to be associated: that of normal
# numbers with a correlation of .3 (a convention).
ASSOCIATED = 0.05
MOST_PAIRS = 3


def associated_pairs(problem: Problem, names: list[str]) -> list[tuple[str, str]]:
    """Return the most associated pairs of columns, by the names of categories, then numbers."""
    bins = [binned(each) for each in variables_of(problem)]
    found = []
    for one in range(len(bins)):
        for other in range(one):
            shared = mutual_information(bins[one], bins[other])
            if shared >= ASSOCIATED and names[one] != names[other]:
                found.append((-shared, names[other], names[one]))
    pairs: list[tuple[str, str]] = []
    for _, first, second in sorted(found):
        if (first, second) not in pairs:
            pairs.append((first, second))
    return pairs[:MOST_PAIRS]


def associated_sentence(choice: Choice, names: list[str]) -> str:
    """Return a sentence on associated columns, with a blank before it; else nothing."""
    pairs = [f"{one} with {other}" for one, other in associated_pairs(choice.problem, names)]
    return f" Columns are associated: {', '.join(pairs)}." if pairs else ""
