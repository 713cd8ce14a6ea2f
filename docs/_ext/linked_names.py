"""Links to the documentation of other projects, from a list in place of a download.

Intersphinx asks every project for its inventory when a site is built, which fails without a
network. Few names are linked here, so that they are listed, and written as inventories.
"""

import zlib
from pathlib import Path

CLASS, FUNCTION = "py:class", "py:function"
PROJECTS = {
    "sklearn": (
        "https://scikit-learn.org/stable/modules/generated/",
        {
            "sklearn.kernel_approximation.AdditiveChi2Sampler": CLASS,
            "sklearn.decomposition.IncrementalPCA": CLASS,
            "sklearn.linear_model.Ridge": CLASS,
            "sklearn.linear_model.ElasticNet": CLASS,
            "sklearn.linear_model.RidgeClassifier": CLASS,
            "sklearn.metrics.pairwise.chi2_kernel": FUNCTION,
        },
    ),
}


def inventories(folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each project; return what ``intersphinx_mapping`` wants."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for project, (address, names) in PROJECTS.items():
        lines = "".join(f"{name} {kind} 1 {name}.html#{name} -\n" for name, kind in names.items())
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
        head += "# The remainder of this file is compressed using zlib.\n"
        file = folder / f"{project}.inv"
        content = head.encode() + zlib.compress(lines.encode())
        if not file.exists() or file.read_bytes() != content:
            file.write_bytes(content)
        mapping[project] = (address, str(file))
    return mapping
