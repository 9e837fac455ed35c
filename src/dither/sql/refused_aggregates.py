"""Aggregates people try that are deliberately not measured, each with the reason and a question that is answered.

Flow: `plan.compile` (over people), `plan.unit_rows` (within one unit) and `plan.rewriting` (over noisy results) ask
here for what a refusal says. `x` in a hint stands for what was aggregated.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["NOT_MEASURED", "way_forward"]

MEASURED = (
    "COUNT, SUM, AVG, VARIANCE, STDDEV, COVAR, CORR, REGR_..., SKEWNESS, KURTOSIS, MIN, MAX, MEDIAN and quantiles are."
)
_VALUES = (
    "It hands out people's values as they are. Group by {0} where its values are known: SELECT {0}, COUNT(*) AS n FROM "
    "... GROUP BY {0}."
)
_SOMEBODYS = "It picks one person's value. Ask for what is typical of all, as MEDIAN({0}) or AVG({0})."
_BITS = "It is one person's to change. Count those with the bit: COUNT_IF(({0} >> 2) & 1 = 1)."

NOT_MEASURED: dict[str, str] = {
    **dict.fromkeys(["list", "array_agg", "string_agg", "group_concat", "listagg"], _VALUES),
    **dict.fromkeys(
        ["first", "last", "any_value", "arbitrary", "arg_max", "arg_min", "max_by", "min_by", "argmax", "argmin",
         "arg_max_null", "arg_min_null", "arg_max_nulls_last", "arg_min_nulls_last"],
        _SOMEBODYS,
    ),
    **dict.fromkeys(
        ["mode", "approx_top_k"],
        "Which value is the most frequent is a question about counts: SELECT {0}, COUNT(*) AS n FROM ... GROUP BY {0} "
        "ORDER BY n DESC LIMIT 1.",
    ),
    **dict.fromkeys(
        ["histogram", "histogram_exact"], "Its bins are groups: SELECT {0}, COUNT(*) AS n FROM ... GROUP BY {0}."
    ),
    "entropy": "It follows from counts: WITH c AS (SELECT {0} AS v, COUNT(*) AS n FROM ... GROUP BY v), p AS (SELECT "
    "n / SUM(n) OVER () AS p FROM c WHERE n > 0) SELECT -SUM(p * LOG2(p)) FROM p.",
    "product": "One person multiplies it without end. Ask for its logarithm: SUM(LN({0})).",
    "mad": "It needs the median first. Write it out: SELECT MEDIAN(ABS({0} - (SELECT MEDIAN({0}) FROM ...))) FROM ..., "
    "or ask for QUANTILE_CONT({0}, 0.75) - QUANTILE_CONT({0}, 0.25).",
    **dict.fromkeys(["bit_and", "bit_or", "bit_xor", "bitstring_agg"], _BITS),
    **dict.fromkeys(["weighted_avg", "wavg"], "Write it out: SUM({0} * {1}) / SUM({1})."),
    **dict.fromkeys(["reservoir_quantile"], "It samples rows. Write QUANTILE_CONT({0}, 0.5)."),
    **dict.fromkeys(["every", "logical_and"], "Write BOOL_AND({0})."),
    **dict.fromkeys(["some", "logical_or"], "Write BOOL_OR({0})."),
}  # fmt: skip


def way_forward(function: str, arguments: Sequence[str], *, distinct: bool = False) -> str:
    """What to ask instead. arguments: as the question has them."""
    known = NOT_MEASURED.get(function)
    if known is None:
        return "COUNT, SUM and AVG take DISTINCT." if distinct else MEASURED
    shown = [argument for argument in arguments if argument] or ["x"]
    return known.format(*shown, *(["w"] if len(shown) == 1 else []))
