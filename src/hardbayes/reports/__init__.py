"""Reports of fitted models: one HTML file that needs no network and no other file.

`writing` says what a report of each kind of model consists of; every other file but `page` gathers
what there is to say about one subject and writes its sections.
"""

from hardbayes.reports.writing import report

__all__ = ["report"]
