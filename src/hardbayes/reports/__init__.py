"""Reports of fitted models: one HTML file that needs no network and no other file.

`facts` gathers what there is to say, `sections` writes it, `page` puts it into the template
``page.html`` with its style sheet and its script.
"""

from hardbayes.reports.writing import report

__all__ = ["report"]
