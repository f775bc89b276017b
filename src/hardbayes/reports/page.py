"""The whole page: the template, its style sheet and script, and a policy that allows no other."""

import base64
import hashlib
import json
import re
from html import escape
from importlib.resources import files
from typing import Any

from hardbayes.markup import Markup


def page(title: str, body: Markup, data: dict[str, Any]) -> bytes:
    """Return the file.

    Parameters
    ----------
    title : str
        Title of the window.
    body : Markup
        What the page shows.
    data : dict
        What the script reads: anything that JSON can hold.
    """
    style, script = _part("page.css"), _part("page.js")
    parts = {
        "policy": escape(_policy(style, script)),
        "title": escape(title),
        "style": style,
        "body": body,
        "data": _as_json(data),
        "script": script,
    }
    # In one go: what is filled in is not searched for places to fill.
    whole = re.sub(r"@(\w+)@", lambda found: parts[found[1]], _part("page.html"))
    return whole.encode("utf-8", "replace")


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _policy(style: str, script: str) -> str:
    """Return a content security policy: this style sheet, this script, and nothing else."""
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _as_json(data: dict[str, Any]) -> str:
    """Return JSON that cannot end the element it stands in."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
