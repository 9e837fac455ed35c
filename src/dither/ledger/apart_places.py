"""Where the ledgers of notions apart are: in files beside the data set's ledger, one for each notion.

Flow: `session.sampled` opens one; `session.statement` finds them all. Relies on the file system alone.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re

from dither.accounting.metric import MetricLoss
from dither.accounting.random_dp import RandomLoss, one_notion
from dither.errors import PolicyRefused

__all__ = ["beside", "found_beside"]

_NAME = re.compile(r"\.(random|metric)-[0-9a-f]{12}")


def beside(ledger: str, loss: MetricLoss | RandomLoss) -> str:
    """The file of this notion's ledger beside the data set's own; '' (in memory) where that is in memory.
    Raises PolicyRefused where that is on a server: what is released would be on record on one machine only."""
    if not ledger:
        return ""
    kind = "random" if isinstance(loss, RandomLoss) else "metric"
    digest = hashlib.sha256(one_notion([loss]).encode()).hexdigest()[:12]
    return f"{_file(ledger)}.{kind}-{digest}"


def found_beside(ledger: str) -> tuple[str, ...]:
    """All such files that are there, in the order of their names."""
    if not ledger or ("://" in ledger and not ledger.startswith("sqlite:///")):
        return ()
    place = _file(ledger)
    names = glob.glob(f"{glob.escape(place)}.*")
    return tuple(sorted(name for name in names if _NAME.fullmatch(name[len(place) :]) and os.path.isfile(name)))


def _file(ledger: str) -> str:
    path = ledger.removeprefix("sqlite:///")
    if "://" in path:
        raise PolicyRefused(
            "Releases of another notion than differential privacy are recorded in a file beside the ledger, and this "
            "ledger is on a server.",
            code="R-110",
            hint="Keep the ledger of this data set in a file.",
        )
    return path
