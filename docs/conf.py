"""The site: ``sphinx-build -n -W docs docs/_build`` (extra ``docs``), without a network."""

import re
import sys
from pathlib import Path

import matplotlib as mpl
from docutils import nodes

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]
mpl.use("Agg")

from linked_names import inventories

import streamchi2

project = "streamchi2"
author = copyright = "The streamchi2 developers"  # noqa: A001 (Sphinx's word)
release = version = streamchi2.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "matplotlib.sphinxext.plot_directive",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "numpydoc",
    "myst_parser",
    "formulas",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "**sg_execution_times.rst"]
pygments_style = "friendly"
pygments_dark_style = "github-dark"

html_theme = "furo"
html_title = "streamchi2"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_math_renderer = "svg"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}

autosummary_generate = True
autodoc_typehints = "none"  # types are in the docstrings, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
intersphinx_mapping = inventories(HERE / "generated" / "inventories")

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

plot_formats = [("png", 144)]
plot_html_show_formats = plot_html_show_source_link = False
plot_rcparams = {"figure.figsize": (7.0, 3.4), "figure.constrained_layout.use": True}
plot_apply_rcparams = True
plot_pre_code = "import numpy as np\nimport matplotlib.pyplot as plt"

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "gallery_order.InReadingOrder",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "min_reported_time": 10_000,
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("streamchi2",),
    "nested_sections": False,
    "parallel": 2,
    "image_srcset": ["2x"],
}


def point_at_pages(app, relative_path, parent, content) -> None:
    """Let links to files of the repository lead to the pages that are made of them."""
    above = "../" * parent.count("/")
    for file, page in {
        r"examples/paper/README\.md": "paper.md",
        r"examples/gallery": "gallery/index.rst",
        r"examples/gallery/(\w+)\.py": r"gallery/\1.rst",
        r"CONTRIBUTING\.md": "contributing.md",
        r"CHANGELOG\.md": "changelog.md",
        r"docs/([\w/]+\.md)": r"\1",
    }.items():
        content[0] = re.sub(rf"\]\({file}\)", rf"]({above}{page})", content[0])


def strip_blank_lines(app, document) -> None:
    """Take away the blank line that ends a doctest."""
    for block in document.findall(nodes.literal_block):
        text = block.astext().rstrip("\n")
        block.rawsource = text
        block.children = [nodes.Text(text)] if len(block.children) == 1 else block.children


def setup(app) -> None:
    """Register what happens when a file is included or read."""
    app.connect("include-read", point_at_pages)
    app.connect("doctree-read", strip_blank_lines)
