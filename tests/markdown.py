"""Pages of Markdown: their code, run, and their links."""

import re
from pathlib import Path

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def run_blocks(page: Path, capsys) -> None:
    """Run Python blocks in one session; a text block after code is what that code prints."""
    session = {}
    printed = ""
    blocks = FENCE.findall(page.read_text(encoding="utf-8"))
    assert [language for language, _ in blocks].count("python") >= 2
    for language, text in blocks:
        if language == "python":
            assert printed == "", f"{page.name} does not show what this printed"
            exec(compile(text, page.name, "exec"), session)  # noqa: S102 - our own text
            printed = capsys.readouterr().out
        elif language == "text":
            assert printed == text
            printed = ""
    assert printed == ""


def headings(page: Path) -> set[str]:
    """Anchors of the headings of a page, as code hosts and the site form them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def links(page: Path) -> list[str]:
    """Links of a page that lead to files, with their anchors."""
    found = LINK.findall(page.read_text(encoding="utf-8"))
    return [link for link in found if not link.startswith(("http:", "https:", "mailto:"))]
