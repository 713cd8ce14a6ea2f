"""Every class of the library whose state can be saved."""

import importlib
import pkgutil

import streamchi2
from streamchi2.state import Saved

for module in pkgutil.walk_packages(streamchi2.__path__, "streamchi2."):
    importlib.import_module(module.name)


def _below(kind):
    for child in kind.__subclasses__():
        yield child
        yield from _below(child)


# Tests may define others.
_OURS = [kind for kind in _below(Saved) if kind.__module__.startswith("streamchi2.")]
CLASSES = list(dict.fromkeys(_OURS))
