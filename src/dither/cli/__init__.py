"""The command line, `dither`: one file per command.

`dither --help` loads Typer and nothing else; every command imports what it needs when it runs.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 answered, 2 refused or bad input, 3 budget, 4 engine or ledger,
    70 a broken guarantee, 130 stopped by the user."""
    from dither.cli.app import run

    return run(arguments)
