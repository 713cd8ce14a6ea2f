"""Which files a path, a folder, a pattern or a list of these stands for."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".csv": "csv",
    ".csv.gz": "csv",
}


@dataclass(frozen=True)
class FilePaths:
    """Files in the order in which they are read.

    Parameters
    ----------
    paths : str or list of str
        One path as it was given, which may be an address, or several.
    root : str or None
        The folder they were looked for in; None where they were named one by one.
    """

    paths: str | list[str]
    root: str | None = None

    @classmethod
    def named_by(cls, source: Any) -> Self | None:
        """Return the files that a source stands for, or None where it stands for none.

        Those of a folder or a pattern come in the order of their paths, those of a list as they
        are listed.
        """
        if isinstance(source, str | os.PathLike):
            return cls._at(os.fspath(source))
        if not isinstance(source, list | tuple) or not source:
            return None
        if not all(isinstance(path, str | os.PathLike) for path in source):
            return None
        paths = list[str]()
        for path in source:
            found = cls._at(os.fspath(path)).paths
            paths += [found] if isinstance(found, str) else found
        seen = set[str]()
        for path in paths:
            if os.path.abspath(path) in seen:
                raise ValueError(f"source must name every file once, got {path!r} twice")
            seen.add(os.path.abspath(path))
        return cls(paths)

    @classmethod
    def _at(cls, path: str) -> Self:
        folder = Path(path)
        if folder.is_dir():
            files = sorted(str(file) for file in folder.rglob("*") if _is_shown(file, folder))
            if not files:
                raise FileNotFoundError(f"source must be a folder that holds files, got {path!r}")
            return cls(files, os.path.abspath(path))
        if not glob.has_magic(path) or folder.exists():
            return cls(path)
        files = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))
        if not files:
            raise FileNotFoundError(f"source must match at least one file, got {path!r}")
        plain = path[: min(path.index(sign) for sign in "*?[" if sign in path)]
        return cls(files, os.path.abspath(os.path.dirname(plain)))

    def format(self, *, delimited: bool = False) -> str:
        """Return what kind of files these are, all of them, or refuse.

        ``delimited`` says that they are CSV whatever they are called.

        >>> FilePaths(["monday.csv", "tuesday.csv.gz"]).format()
        'csv'
        """
        paths = [self.paths] if isinstance(self.paths, str) else self.paths
        if delimited:
            return "csv"
        found = {_FORMATS.get(_suffix(path)): path for path in paths}
        if None in found:
            raise ValueError(
                "source must end in .parquet, .pq, .feather, .arrow, .csv or .csv.gz, or be a "
                f"folder of such files, got {found[None]!r}; files of other endings are read as "
                "CSV if delimiter is given"
            )
        if len(found) > 1:
            raise ValueError(f"files must be of one format, got {sorted(found.values())}")
        return str(*found)


def _is_shown(file: Path, folder: Path) -> bool:
    # As pyarrow has it: what begins with a dot or an underscore is no data.
    return file.is_file() and not any(
        part.startswith((".", "_")) for part in file.relative_to(folder).parts
    )


def _suffix(file: str) -> str:
    ending = "".join(Path(file).suffixes[-2:]).lower()
    return ending if ending in _FORMATS else Path(file).suffix.lower()
