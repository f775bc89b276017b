"""The page of ``--out``: every experiment with its table and its figure, in one file."""

import base64

from hardbayes import __version__
from hardbayes.core.html import Markup, join, tag
from hardbayes.experiments.registry import Experiment
from hardbayes.experiments.results import Result, clock
from hardbayes.plot.pictures import picture_of
from hardbayes.reports.page import contents, header, page
from hardbayes.reports.pieces import Section, section, table

LEAD = (
    "Kulis & Jordan 2012 (KJ), Jiang, Kulis & Jordan 2012 (JKJ) and Broderick, Kulis & Jordan 2013 "
    "(BKJ) print some dozen tables and figures. Here is what they print beside what the published "
    "algorithms, the defaults of this library and other methods measure."
)


def write_page(results: list[tuple[Experiment, Result]], quick: bool) -> bytes:
    """Return the file."""
    sections = [_section(experiment, result) for experiment, result in results]
    how = "Run with --quick: fewer repetitions and smaller data, not what the papers did."
    seconds = sum(result.seconds for _, result in results)
    body = join(
        header(
            "hardbayes experiments",
            "The experiments of the papers, repeated",
            [LEAD, *([how] if quick else [])],
            [("time", clock(seconds))],
        ),
        contents(sections),
        tag("main", [each.content for each in sections], id="main"),
        tag(
            "footer",
            tag(
                "p",
                f"Written by hardbayes {__version__}. This file is complete: it "
                "loads nothing, and works without a network.",
            ),
        ),
    )
    return page("The experiments of the papers, repeated", body, {}, pictures=True)


def _section(experiment: Experiment, result: Result) -> Section:
    facts = [
        ("seed", str(result.seed)),
        ("time", clock(result.seconds)),
        ("data", result.data),
        *(("missing", line) for line in result.missing),
    ]
    return section(
        experiment.name,
        f"{experiment.paper}: {experiment.about}",
        tag("p", result.verdict, class_="lead"),
        table(f"Measured for {experiment.paper}", result.head, result.rows),
        _figure(result),
        tag("p", result.notes),
        tag("dl", [tag("div", tag("dt", k), tag("dd", v)) for k, v in facts], class_="facts"),
    )


def _figure(result: Result) -> Markup:
    light, dark = (
        "data:image/png;base64," + base64.b64encode(picture_of(result.draw, dark=shade)).decode()
        for shade in (False, True)
    )
    shown = tag(
        "picture",
        tag("source", srcset=dark, media="(prefers-color-scheme: dark)"),
        tag("img", src=light, alt=result.caption, class_="plot"),
    )
    return tag("figure", shown, tag("figcaption", result.caption))
