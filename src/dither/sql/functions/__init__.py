"""The scalar functions a question may use. Importing this package fills the registry."""

from dither.sql.functions import (
    arithmetic,
    dates,
    doubles,
    hashes,
    integers,
    intervals,
    logic,
    moments,
    patterns,
    rounding,
    text,
)
from dither.sql.functions.registry import BUILDERS, CHOICES, FUNCTIONS, TEMPLATES, Builder, Call, Function

__all__ = [
    "BUILDERS",
    "CHOICES",
    "FUNCTIONS",
    "TEMPLATES",
    "Builder",
    "Call",
    "Function",
    "arithmetic",
    "dates",
    "doubles",
    "hashes",
    "integers",
    "intervals",
    "logic",
    "moments",
    "patterns",
    "rounding",
    "text",
]
