"""Functions people try that are deliberately not on the list, each with the reason and the way forward."""

from __future__ import annotations

__all__ = ["REFUSED"]

_LONG = "How long it takes, or how much it builds, depends on a row's values: time would tell of them."
_PARTS = " Write SPLIT_PART(x, '-', 1)."
_PADDED = " Write RIGHT('000' || x, 3)."
_STORED = "A double is finite or NULL here, so the question has one answer: ask IS NULL instead."
_CLOCK = "All times are in UTC; write timestamps in UTC, without a zone."

REFUSED: dict[str, str] = {
    **dict.fromkeys(
        ["repeat", "rpad", "format", "printf", "bar", "regexp_extract_all", "generate_series", "range", "pg_sleep",
         "sleep_ms"],
        _LONG,
    ),
    **dict.fromkeys(
        ["string_split", "str_split", "split", "string_to_array", "regexp_split_to_array"], _LONG + _PARTS
    ),
    "lpad": _LONG + _PADDED,
    "row": "Rows are compared with rows: (a, b) IN ((1, 'x'), (2, 'y')). To count different pairs, join them in one "
    "text: COUNT(DISTINCT CONCAT(CAST(a AS VARCHAR), ' ', b)).",
    "width_bucket": "Write FLOOR((x - lo) / width) + 1.",
    "initcap": "Write UPPER(LEFT(x, 1)) || LOWER(SUBSTRING(x, 2)).",
    **dict.fromkeys(
        ["levenshtein", "editdist3", "damerau_levenshtein", "jaro_similarity", "jaro_winkler_similarity", "jaccard"],
        _LONG + " Compare LOWER(TRIM(x)), or parts of it.",
    ),
    **dict.fromkeys(["isnan", "isinf", "isfinite", "signbit"], _STORED),
    **dict.fromkeys(["timezone", "make_timestamptz", "to_timestamp", "timezone_hour", "timezone_minute"], _CLOCK),
    "hash": "Its values change between versions of DuckDB and are another engine's never: "
    "for buckets that stay, write MD5_NUMBER_LOWER(x) % 100.",
    "md5_number": "It has 128 bits, more than the integers here: write MD5_NUMBER_LOWER(x) or MD5_NUMBER_UPPER(x).",
    "age": "Its months and days follow no one calendar rule: write DATE_SUB('year', born, day) for full years.",
    "strptime": "Write CAST(x AS DATE) or CAST(x AS TIMESTAMP) for texts as 2024-01-31.",
    "try_strptime": "Write CAST(x AS DATE) or CAST(x AS TIMESTAMP) for texts as 2024-01-31.",
    "epoch_ns": "Nanoseconds of the years before 1678 and after 2262 do not fit: write EPOCH_US(x).",
    "hamming": "It fails on texts of different lengths, which would tell of a row.",
    "mismatches": "It fails on texts of different lengths, which would tell of a row.",
    "error": "It fails on purpose, which would tell of a row.",
    "assert_true": "It fails on purpose, which would tell of a row.",
    "typeof": "Types are public: dither explain names them.",
    "try": "Nothing here can fail on a row, so nothing needs TRY.",
}  # fmt: skip
