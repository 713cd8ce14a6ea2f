"""``python -m streamchi2 info FILE``: what is in a saved model or a checkpoint."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from streamchi2 import __version__
from streamchi2.errors import FormatError
from streamchi2.persistence.description import description

_EPILOG = """\
exit codes: 0 all files were read; 1 one of them is foreign, damaged, or sealed with another key;
2 one of them cannot be opened, or the command is not understood"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code.

    >>> main(["info", "no such file"])
    2
    """
    options = _parser().parse_args(arguments)
    try:
        key = None if options.key_file is None else options.key_file.read_bytes()
    except OSError as error:
        print(f"streamchi2: {error}", file=sys.stderr)  # noqa: T201
        return 2
    code = 0
    for path in options.files:
        try:
            found = description(path, key=key)
        except FormatError as error:
            print(f"streamchi2: {path}: {error}", file=sys.stderr)  # noqa: T201
            code = max(code, 1)
            continue
        except OSError as error:
            print(f"streamchi2: {error}", file=sys.stderr)  # noqa: T201
            code = 2
            continue
        width = max(map(len, found))
        lines = [f"  {name:{width}}  {value}" for name, value in found.items()]
        print("\n".join([str(path), *lines]))  # noqa: T201
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m streamchi2",
        description="Online learning on histograms with the exp-chi2 kernel.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"streamchi2 {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    info = commands.add_parser(
        "info",
        help="say what is in a saved model or a checkpoint",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    info.add_argument("files", nargs="+", type=Path, metavar="FILE", help="written by save")
    info.add_argument(
        "--key-file", type=Path, metavar="KEY", help="file with the bytes given to save as key="
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
