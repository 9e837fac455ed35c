"""The scalar functions a question may use. Importing this package fills the registry."""

from dither.sql.functions import arithmetic, casts, dates, logic, text
from dither.sql.functions.registry import BUILDERS, TEMPLATES, Builder, Call

__all__ = ["BUILDERS", "TEMPLATES", "Builder", "Call", "arithmetic", "casts", "dates", "logic", "text"]
