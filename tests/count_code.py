"""Size and call depth of a checkout of streamchi2: ``python tests/count_code.py [CHECKOUT]``.

Public names only, so that two versions are counted in the same way. Counted are:

* files and lines of the package, and the lines of code among them: neither blank, nor comment,
  nor docstring;
* tokens, statements and branches (if, for, while, except, conditional expressions, loops inside
  brackets, and/or), and how often an attribute of ``self`` is assigned, outside constructors too;
* ``isinstance`` tests and ``case Class()`` patterns on classes that the package itself defines, or
  on unions of these;
* for eight calls, the files of the package that are passed and the functions of the package that
  are called, by ``sys.setprofile``. Comprehensions and resumed generators are not calls, and each
  task runs once before it is traced, so that imports and caches of the process do not count.
"""

from __future__ import annotations

import ast
import functools
import io
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = "streamchi2"
SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


BRANCHES = (
    ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp, ast.comprehension, ast.BoolOp,
    ast.match_case,
)  # fmt: skip


def tokens_of(source: str) -> list[tokenize.TokenInfo]:
    """Return the tokens of a source but for comments and layout."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [token for token in tokens if token.type not in LAYOUT]


def n_nodes(trees: list[ast.Module], kinds: type | tuple[type, ...]) -> int:
    """Return the number of nodes of some kinds."""
    return sum(isinstance(node, kinds) for tree in trees for node in ast.walk(tree))


def stores_to_self(node: ast.AST, inside: str = "") -> Iterator[str]:
    """Yield the name of the function around each assignment to an attribute of ``self``."""
    match node:
        case ast.FunctionDef(name=name):
            inside = inside or name
        case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
            yield inside
    for child in ast.iter_child_nodes(node):
        yield from stores_to_self(child, inside)


def lines_of_code(source: str) -> int:
    """Return the number of lines that hold code."""
    lines: set[int] = set()
    for token in tokens_of(source):
        lines.update(range(token.start[0], token.end[0] + 1))
    for scope in ast.walk(ast.parse(source)):
        if isinstance(scope, SCOPES) and ast.get_docstring(scope, clean=False) is not None:
            docstring = scope.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(lines)


def named_classes(expression: ast.expr) -> Iterator[str]:
    """Yield the last names in ``C``, ``module.C``, ``(A, B)`` and ``A | B``."""
    match expression:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from named_classes(part)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from named_classes(left)
            yield from named_classes(right)


def own_classes(trees: list[ast.Module]) -> set[str]:
    """Return the names of classes that the package defines, and of unions of these."""
    own = {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for statement in (statement for tree in trees for statement in tree.body):
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if own & set(named_classes(value)):
                own.add(name)
    return own


def class_tests(tree: ast.Module) -> Iterator[set[str]]:
    """Yield the names of classes in each ``isinstance`` test and each class pattern."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, classes]):
                yield set(named_classes(classes))
            case ast.MatchClass(cls=cls):
                yield set(named_classes(cls))


def traced(package: Path, task: Callable[[], Any]) -> tuple[int, int]:
    """Return how many files of the package a task passes and how many of its functions it calls."""
    calls: Counter[str] = Counter()
    prefix = str(package)

    def count(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(prefix):
            return
        inlined = code.co_name.startswith("<") and code.co_name != "<lambda>"
        # Python enters a frame by RESUME, whose argument is 0 only where a function begins. A
        # resumed generator is not another call, but still passes its file.
        resumed = code.co_code[frame.f_lasti + 1] & 3
        calls[code.co_filename] += not (inlined or resumed)

    sys.setprofile(count)
    try:
        task()
    finally:
        sys.setprofile(None)
    return len(calls), calls.total()


def tasks(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield names and calls, in an order in which each finds the state that its name tells."""
    from sklearn.datasets import load_digits

    import streamchi2
    import streamchi2.river

    X, y = load_digits(return_X_y=True)
    X /= X.sum(axis=1, keepdims=True)
    model = streamchi2.ExpChi2Classifier(n_components=64, random_state=0)
    yield "partial_fit, first 100 rows", lambda: model.partial_fit(X[:100], y[:100])
    for start in range(100, 1000, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
    yield "partial_fit, rows 1000 to 1100", lambda: model.partial_fit(X[1000:1100], y[1000:1100])
    yield "predict, first", lambda: model.predict(X[1100:1200])
    yield "predict, again", lambda: model.predict(X[1100:1200])
    yield "save", lambda: streamchi2.save(model, folder / "model")
    yield "load", lambda: streamchi2.load(folder / "model")
    online = streamchi2.river.ExpChi2Classifier(n_components=64, seed=0)
    rows: list[dict[Any, float]] = [dict(enumerate(row)) for row in X.tolist()]
    for row, label in zip(rows[:1000], y.tolist(), strict=False):
        online.learn_one(row, label)
    for row, label in zip(rows[1000:1512], y[1000:1512].tolist(), strict=True):
        yield "learn_one", functools.partial(online.learn_one, row, label)


def report(checkout: Path) -> None:
    """Print all counts of one checkout."""
    package = checkout / PACKAGE
    sources = [path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))]
    trees = [ast.parse(source) for source in sources]
    own = own_classes(trees)
    tests = [names & own for tree in trees for names in class_tests(tree) if names & own]
    n_lines, n_tokens = (sum(map(f, sources)) for f in (lines_of_code, lambda s: len(tokens_of(s))))
    stores = [name for tree in trees for name in stores_to_self(tree)]
    for name, count in {
        "files": len(sources),
        "lines": sum(source.count(chr(10)) for source in sources),
        "lines of code": n_lines,
        "tokens": n_tokens,
        "tokens per line of code": round(n_tokens / n_lines, 2),
        "statements": n_nodes(trees, ast.stmt),
        "branches": n_nodes(trees, BRANCHES),
        "stores to self": len(stores),
        "stores to self outside __init__": len(stores) - stores.count("__init__"),
        "isinstance tests on own classes": len(tests),
    }.items():
        print(f"{name:34}{count:7}")
    often = Counter(name for names in tests for name in names).most_common(5)
    print("  most often:", ", ".join(f"{name} {count}" for name, count in often))

    sys.path.insert(0, str(checkout))
    import streamchi2

    if Path(streamchi2.__file__).resolve().parent != package:
        raise SystemExit(f"{PACKAGE} was imported from {streamchi2.__file__}, not from {package}")
    with tempfile.TemporaryDirectory() as folder:
        for _, task in tasks(Path(folder)):
            task()
        seen = [(name, traced(package, task)) for name, task in tasks(Path(folder))]
    print(f"\n{'':34}{'files':>7}{'calls':>7}")
    for name, (files, calls) in seen:
        if name != "learn_one":
            print(f"{name:34}{files:7}{calls:7}")
    one_by_one = [counts for name, counts in seen if name == "learn_one"]
    ordinary = Counter(one_by_one).most_common(1)[0][0]
    largest = max(one_by_one, key=lambda counts: counts[1])
    print(f"{'learn_one, most rows':34}{ordinary[0]:7}{ordinary[1]:7}")
    # Only a complete block is learnt, and a model solved: the row with the most calls ends one.
    print(f"{'learn_one, at the end of a block':34}{largest[0]:7}{largest[1]:7}")
    mean = sum(calls for _, calls in one_by_one) / len(one_by_one)
    print(f"{'learn_one, mean of 512 rows':34}{'':7}{mean:7.0f}")


if __name__ == "__main__":
    report(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve())
