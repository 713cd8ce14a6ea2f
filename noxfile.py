"""The developer's tasks: ``nox --list`` names them, ``nox`` runs the quick ones and the tests."""

import subprocess
import tarfile
import zipfile
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "imports", "docs", "tests"]
nox.options.error_on_external_run = True
PYTHONS = ["3.11", "3.12", "3.13"]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the README's test command; arguments after ``--`` go to pytest."""
    session.install(".[test]")
    session.run("pytest", *session.posargs)


@nox.session(python=PYTHONS[0])
def thorough(session: nox.Session) -> None:
    """Run what the README's test command leaves out, with more examples of every law."""
    session.install(".[test]")
    session.run("pytest", "-m", "thorough or not thorough", "--hypothesis-profile=thorough")


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """Run the tests with the lowest versions that pyproject.toml allows."""
    session.install("uv")
    session.run("uv", "pip", "install", "--resolution=lowest-direct", ".[test]")
    session.run("uv", "pip", "freeze")
    session.run("pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format."""
    session.install("ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types, with the typed dependencies installed."""
    session.install(".[test,dev]")
    session.run("mypy")


@nox.session
def imports(session: nox.Session) -> None:
    """Check that imports point one way."""
    session.install("import-linter")
    session.run("lint-imports")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site and run its gallery; a warning is an error."""
    session.install(".[test,docs]")
    session.run("sphinx-build", "-q", "-n", "-W", "-j", "2", "docs", "docs/_build")


@nox.session
def build(session: nox.Session) -> None:
    """Build wheel and sdist, and check their metadata and their contents."""
    session.install("build", "twine")
    folder = Path(session.create_tmp()).resolve() / "dist"
    for old in folder.glob("*"):
        old.unlink()
    session.run("python", "-m", "build", "--outdir", str(folder))
    wheel, sdist = next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))
    session.run("twine", "check", "--strict", str(wheel), str(sdist))

    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    tracked = set(listed.stdout.splitlines())
    library = {name for name in tracked if name.startswith("streamchi2/")}
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    if packed != library:
        session.error(f"the wheel must hold the tracked library: {sorted(packed ^ library)}")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()} - {"PKG-INFO"}
    wanted = {
        name for name in tracked if name.startswith(("streamchi2/", "tests/", "examples/", "docs/"))
    }
    wanted |= {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}
    if not wanted <= packed <= tracked:
        wrong = sorted((wanted - packed) | (packed - tracked))
        session.error(
            f"the sdist must hold library, tests, examples and docs, and only these: {wrong}"
        )
    session.log(f"{wheel.name}: {len(library)} files; {sdist.name}: {len(packed)} files")

    session.install("--force-reinstall", str(wheel))
    session.chdir(folder)  # away from the checkout: import what was built, without any extra
    session.run("python", "-c", "import streamchi2.river")
