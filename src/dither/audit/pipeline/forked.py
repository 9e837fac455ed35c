"""Two processes must never draw the same noise: after a fork, parent and child go separate ways.

Flow: the parent fills its buffers, forks, and both draw from the process's own generator, at once and one by one.
Equal by chance: less than once in 10^300 (96 numbers, each of probability below 1/2,000).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

from dither.audit.pipeline.result import Line
from dither.noise import discrete_laplace

__all__ = ["forked"]

FORKED = "fork"
_SCALE = 1000
_DRAWS = 48


def forked() -> Iterator[Line]:
    if not hasattr(os, "fork"):
        return
    discrete_laplace(_SCALE)
    discrete_laplace(_SCALE, 1)
    ours, theirs = _both()
    for name, mine, other in zip(("an array", "one number at a time"), ours, theirs, strict=True):
        same = mine == other
        word = "the same" if same else "different"
        yield Line.judged(FORKED, f"noise after a fork: {name}", right=not same, claimed="different", found=word)


def _both() -> tuple[list[str], list[str]]:
    """What the parent and the child draw next, each as text."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python warns of forks beside threads; the child only draws, writes and ends.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.write(writing, "\n".join(_drawn()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        theirs = pipe.read().split("\n")
    os.waitpid(child, 0)
    return _drawn(), theirs


def _drawn() -> list[str]:
    array = discrete_laplace(_SCALE, _DRAWS).tolist()
    return [str(array), str([discrete_laplace(_SCALE) for _ in range(_DRAWS)])]
