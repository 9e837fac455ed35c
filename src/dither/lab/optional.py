"""Libraries that the lab wants and Dither does without: looked for before an attack begins.

Flow: `dither.lab` and attacks ask here; a full run leaves an attack out whose library is missing.
"""

from __future__ import annotations

from importlib.util import find_spec

from dither.errors import InvalidParameter

__all__ = ["MissingLibrary", "needs"]


class MissingLibrary(InvalidParameter):
    """An optional library is not installed; the hint says how to get it."""


def needs(module: str, name: str, purpose: str, *, extra: str) -> None:
    """Raises MissingLibrary unless `module` can be imported. extra: of this project, which brings it."""
    if find_spec(module) is None:
        raise MissingLibrary(
            "dither lab", expected=f"{name}, {purpose}", found=f"no {name}",
            hint=f"Install it with: pip install 'dither[{extra}]'",
        )  # fmt: skip
