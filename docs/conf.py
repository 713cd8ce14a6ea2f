"""The HTML reference: ``sphinx-build -W docs docs/_build`` (extra ``docs``)."""

import ast
from pathlib import Path

import streamchi2

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"

project = "streamchi2"
author = copyright = "The streamchi2 developers"  # noqa: A001 (Sphinx's word)
release = version = streamchi2.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
]
html_theme = "furo"
html_title = "streamchi2"
html_static_path: list[str] = []
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
pygments_style = "friendly"

autosummary_generate = True
autodoc_typehints = "none"  # types are in the docstrings, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
myst_heading_anchors = 2


def write_tutorials() -> None:
    """Make a page of every example: its docstring, then its code."""
    folder = HERE / "generated" / "tutorials"
    folder.mkdir(parents=True, exist_ok=True)
    for script in sorted(EXAMPLES.glob("*.py")):
        words = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or script.stem
        title, _, rest = words.partition("\n")
        title = title.rstrip(".")
        page = folder / f"{script.stem}.rst"
        text = (
            f"{title}\n{'=' * len(title)}\n\n{rest.strip()}\n\n"
            f".. literalinclude:: ../../../examples/{script.name}\n   :language: python\n"
        )
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def point_at_pages(app, relative_path, parent, content) -> None:
    """Let links to files of the repository lead to the pages that are made of them."""
    for file, page in {
        "examples/paper/README.md": "paper.md",
        "examples/planning.md": "planning.md",
    }.items():
        content[0] = content[0].replace(f"]({file})", f"]({page})")


def setup(app) -> None:
    """Register what happens when a file is included."""
    app.connect("include-read", point_at_pages)


write_tutorials()
