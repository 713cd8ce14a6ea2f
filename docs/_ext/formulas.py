"""Formulas as SVG, drawn while the site is built: no script, no font and no network to read them.

Set in STIX Two by ziamath, in the colour of the text around them, so that they look the same in
every browser, light or dark. The source of a formula is its label for screen readers.
"""

import html
import re
from typing import Any

import ziamath
from docutils import nodes
from sphinx.util.math import get_node_equation_number

# Paths in place of <symbol>: symbols have names, which must not occur twice on a page.
ziamath.config.svg2 = False
NUMBER = r"([\d.-]+)"
SIZE = 24  # units of ziamath to one em of its font


def svg(source: str, *, inline: bool) -> str:
    """Return an SVG whose baseline is that of the text."""
    picture = ziamath.Latex(source, size=SIZE, color="currentColor", inline=inline).svg()
    numbers = re.search(rf'width="{NUMBER}" height="{NUMBER}" viewBox="{NUMBER} {NUMBER} ', picture)
    assert numbers is not None
    width, height, _, top = map(float, numbers.groups())
    body = re.sub(r'width="[\d.-]+" height="[\d.-]+"', "", picture, count=1)
    # STIX is a little smaller than the fonts of text beside it.
    scale = 1.06 / SIZE
    style = (
        f"width:{width * scale:.3f}em;height:{height * scale:.3f}em;"
        f"vertical-align:{-(height + top) * scale:.3f}em"
    )
    if height > 12 * SIZE:
        raise ValueError(
            f"a formula is {height / SIZE:.0f} lines high, which is a mistake: {source}"
        )
    label = html.escape(" ".join(source.split()), quote=True)
    return body.replace(
        "<svg ", f'<svg class="formula" role="img" aria-label="{label}" style="{style}" ', 1
    )


def inline_formula(writer: Any, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    writer.body.append(svg(node.astext(), inline=True))
    raise nodes.SkipNode


def displayed_formula(writer: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    writer.body.append(writer.starttag(node, "div", CLASS="math-block"))
    if node["number"]:
        writer.body.append(f'<span class="eqno">({get_node_equation_number(writer, node)})</span>')
    writer.body.append(svg(node.astext(), inline=False) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer under the name of this module."""
    app.add_html_math_renderer("svg", (inline_formula, None), (displayed_formula, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
