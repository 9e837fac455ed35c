"""Dither: a differentially private SQL gateway.

    import dither
    db = dither.open("dither.toml", analyst="research")
    print(db.explain("SELECT region, COUNT(*) FROM visits GROUP BY region", epsilon=0.5))
    answer = db.ask("SELECT region, COUNT(*) FROM visits GROUP BY region", epsilon=0.5)

Public names load on first use: importing the package loads none of NumPy, DuckDB or SQLite.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dither.errors import (
    BudgetError,
    BudgetExceeded,
    CatalogError,
    DitherError,
    EngineError,
    EngineMismatch,
    EngineUnavailable,
    GuaranteeError,
    InvalidParameter,
    LedgerConflict,
    LedgerCorrupt,
    LedgerError,
    PolicyRefused,
    QueryRefused,
)

if TYPE_CHECKING:
    from dither import accounting, differences, mechanisms, noise
    from dither.answer.answer import Answer
    from dither.answer.receipt import Receipt
    from dither.catalog.model import Catalog
    from dither.plan.explain import Explanation
    from dither.session.open import open
    from dither.session.session import Session

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "BudgetError",
    "BudgetExceeded",
    "Catalog",
    "CatalogError",
    "DitherError",
    "EngineError",
    "EngineMismatch",
    "EngineUnavailable",
    "Explanation",
    "GuaranteeError",
    "InvalidParameter",
    "LedgerConflict",
    "LedgerCorrupt",
    "LedgerError",
    "PolicyRefused",
    "QueryRefused",
    "Receipt",
    "Session",
    "accounting",
    "audit",
    "differences",
    "lab",
    "mechanisms",
    "noise",
    "open",
]

_HOMES = {
    "Answer": "dither.answer.answer",
    "Catalog": "dither.catalog.model",
    "Explanation": "dither.plan.explain",
    "Receipt": "dither.answer.receipt",
    "Session": "dither.session.session",
    "open": "dither.session.open",
}
_PACKAGES = ("accounting", "audit", "differences", "lab", "mechanisms", "noise")


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _PACKAGES:
        return import_module(f"dither.{name}")
    raise AttributeError(f"module 'dither' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
