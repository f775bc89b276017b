"""The site that `make docs` builds from these pages, the docstrings and the examples."""

import inspect
import re
import shutil
import sys
from pathlib import Path

import matplotlib as mpl
from sphinx.util.inspect import stringify_signature

from hardbayes import __version__

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))
from benchmarks import constants  # noqa: E402 - it lies in the root

# Pages and scripts that lie outside docs/ are copied here, where Sphinx finds them.
SCRIPTS = HERE / "_build" / "scripts"
PROJECT = HERE / "project"
PROJECT_PAGES = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]

project = "hardbayes"
author = "The hardbayes developers"
copyright = author  # noqa: A001 - Sphinx's name for it
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5", "gallery/*.zip"]
templates_path = ["_templates"]
default_role = "py:obj"
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings have the types
numpydoc_show_class_members = False

html_theme = "furo"
html_title = "hardbayes"
pygments_dark_style = "github-dark"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#8ab8ec", "color-brand-content": "#8ab8ec"},
}

# The scripts save their pictures where they run: in the copies, not in examples/.
sphinx_gallery_conf = {
    "examples_dirs": str(SCRIPTS),
    "gallery_dirs": "gallery",
    "filename_pattern": ".py",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": float("inf"),
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "doc_module": ("hardbayes",),
    "backreferences_dir": "gallery/uses",
    "inspect_global_variables": False,
    "reference_url": {"hardbayes": None},
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (600, 320),
    "show_signature": False,
}
mpl.rcParams["figure.dpi"] = 110


def on_the_site(text, up):
    """Let links to files outside docs/ lead to their copies; ``up`` leads to docs/."""
    outside = re.escape(up + "../")
    text = re.sub(rf"\]\({outside}examples/(\w+)\.py\)", rf"]({up}gallery/\1.rst)", text)
    return re.sub(rf"\]\({outside}([A-Z]+\.md)\)", rf"]({up}project/\1)", text)


def read_page(app, page, source):
    """Change the links of a page as Sphinx reads it."""
    source[0] = on_the_site(source[0], "../" * page.count("/"))


def copy_pages():
    """Copy the scripts and the pages of the root, and write the page of constants.

    A page that has not changed stays as it is.
    """
    shutil.copytree(ROOT / "examples", SCRIPTS, dirs_exist_ok=True)
    PROJECT.mkdir(exist_ok=True)
    pages = {name: (ROOT / name).read_text(encoding="utf-8") for name in PROJECT_PAGES}
    for name, page in {**pages, "constants.md": constants.page()}.items():
        text = page.replace("](docs/", "](../").replace("](README.md)", "](../index.md)")
        text = text.replace("](LICENSE)", "](../../LICENSE)")
        copy = PROJECT / name
        if not copy.exists() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")


def skip_member(app, what, name, obj, skip, options):
    """Leave out what scikit-learn gives to every estimator: its own pages describe it."""
    inherited = (getattr(obj, "__module__", None) or "").startswith("sklearn")
    return True if inherited or re.fullmatch(r"set_\w+_request", name) else None


def escape_shapes(app, what, name, obj, options, lines):
    """Let ``shape (n_clusters_,)`` be text: reStructuredText takes the underscore for a link."""
    for number, line in enumerate(lines):
        lines[number] = re.sub(r"_(?=[,)])", r"\\_", line) if "shape (" in line else line


def class_signature(app, what, name, obj, options, signature, returns):
    """Show what `__init__` takes; Sphinx would show `__new__`, where a class has both."""
    if what != "class":
        return None
    return stringify_signature(inspect.signature(obj), show_annotation=False), None


def setup(app):
    """Connect the functions above."""
    copy_pages()
    app.connect("autodoc-process-docstring", escape_shapes, priority=900)  # after numpydoc
    app.connect("source-read", read_page)
    app.connect("autodoc-process-signature", class_signature)
    app.connect("autodoc-skip-member", skip_member)
