"""Uses of every scalar function over a table of edge values: for each function of the list at least one.

Flow: the property test runs each use on all rows, against plain DuckDB; random expressions are made by putting uses
into each other, at the places marked {number}, {integer}, {text}, {moment}, {truth}.
"""

from __future__ import annotations

__all__ = ["CASES", "FORMS", "FUNCTION_CASES", "HOLES"]

# What stands at a place when nothing is nested into it.
HOLES = {
    "integer": ("i", "k", "n", "length(s)", "7", "-1", "0", "NULL"),
    "number": ("i", "k", "x", "y", "p", "q", "0.5", "2", "1e3", "NULL"),
    "text": ("s", "t", "'North'", "''", "'é😀'", "NULL"),
    "moment": ("d", "e", "ts", "us", "DATE '2020-02-29'", "TIMESTAMP '2021-12-31 23:59:59.999999'", "NULL"),
    "truth": ("b", "k > 3", "s IS NULL", "NULL"),
}

CASES: dict[str, tuple[str, ...]] = {
    # Numbers
    "+": ("{number} + {number}", "e + k", "k + e", "e + INTERVAL '1 month'", "+{number}", "add(k, n)"),
    "-": (
        "{number} - {number}", "-{number}", "e - k", "e - e", "us - {moment} > INTERVAL '1 day'", "subtract(k, n)",
    ),
    "*": ("{number} * {number}", "multiply(k, y)", "us + INTERVAL '1 day' * k"),
    "/": ("{number} / {number}", "10 / k"),
    "//": ("{number} // {number}", "{integer} // {integer}", "i // -1", "divide(n, 7)"),
    "%": ("{number} % {number}", "{integer} % {integer}", "i % -1", "mod(n, 7)"),
    "abs": ("abs({number})", "@k"),
    "sign": ("sign({number})",),
    "greatest": (
        "greatest({number}, {number})", "greatest(k, 3, NULL)", "greatest(s, t)", "greatest(e, '2020-05-05')",
        "greatest({moment}, {moment})", "greatest(i, 100000000000000000000)",
    ),
    "least": ("least({number}, {number})", "least(x, 5e5)", "least(s, 'm')", "least(us, '2020-05-05 10:00:00')"),
    # Rounding
    "floor": ("floor({number})",),
    "ceil": ("ceil({number})", "ceiling(y)"),
    "trunc": ("trunc({number})", "trunc({number}, 1)", "trunc(i, -2)", "trunc(q, -1)", "trunc(x, -3)", "trunc(p, 1)"),
    "round": (
        "round({number})", "round({number}, 2)", "round(i, -2)", "round(i, -18)", "round(k, -1)", "round(q, -1)",
        "round(x, -3)", "round(x, 15)", "round(q, 1)", "round({integer}, -3)",
    ),
    "round_even": ("round_even({number}, 0)", "round_even(q, 1)", "round_even(i, -2)", "roundbankers(k, -1)"),
    "even": ("even({number})",),
    # Roots, powers, logarithms
    "sqrt": ("sqrt({number})",),
    "cbrt": ("cbrt({number})",),
    "ln": ("ln({number})",),
    "log10": ("log10({number})",),
    "log2": ("log2({number})",),
    "log": ("log({number})", "log(2, {number})", "log({number}, {number})", "log(1.5, y)"),
    "exp": ("exp({number})",),
    "power": ("power({number}, 2)", "power({number}, {number})", "k ^ 3", "y ** 0", "power(y, 0.5)", "pow(y, -1)"),
    "gamma": ("gamma({number})",),
    "lgamma": ("lgamma({number})",),
    # Angles
    "sin": ("sin({number})",), "cos": ("cos({number})",), "tan": ("tan({number})",), "cot": ("cot({number})",),
    "asin": ("asin({number})",), "acos": ("acos({number})",), "atan": ("atan({number})",),
    "atan2": ("atan2({number}, {number})",),
    "sinh": ("sinh({number})",), "cosh": ("cosh({number})",), "tanh": ("tanh({number})",),
    "asinh": ("asinh({number})",), "acosh": ("acosh({number})",), "atanh": ("atanh({number})", "atanh(y / 10)"),
    "degrees": ("degrees({number})",), "radians": ("radians({number})",), "pi": ("pi() * {number}",),
    # Whole numbers
    "&": ("{integer} & {integer}", "i & 255", "k & n"),
    "|": ("{integer} | {integer}", "k | n"),
    "xor": ("xor({integer}, {integer})", "xor(k, n)"),
    "~": ("~{integer}",),
    "bit_count": ("bit_count(n)", "bit_count(greatest({integer}, 0))"),
    "<<": ("n << 3", "n << 60", "(i & 1) << 62", "(i & 3) << n // 20", "greatest(k, 0) << 100"),
    ">>": ("n >> 2", "greatest({integer}, 0) >> 5", "n >> n", "(i & 255) >> 100"),
    "gcd": ("gcd({integer}, {integer})", "greatest_common_divisor(i, 0)"),
    "lcm": ("lcm({integer}, {integer})", "least_common_multiple(n, 12)"),
    "factorial": ("factorial({integer})", "n!"),
    # Choices
    "if": ("if({truth}, {number}, {number})", "if({truth}, s, t)", "if(k > 0, e, '2020-01-01')"),
    "coalesce": ("coalesce({number}, {number})", "coalesce({text}, {text})", "ifnull(e, '2020-01-01')"),
    "nullif": ("nullif({number}, {number})", "nullif({text}, 'North')", "nullif(e, '2020-01-01')"),
    # Spans of time
    "to_millennia": ("us + to_millennia(1)", "us + INTERVAL 1 MILLENNIUM"),
    "to_centuries": ("{moment} + to_centuries(-2)",),
    "to_decades": ("{moment} + to_decades(k)",),
    "to_years": ("{moment} + to_years(k)", "{moment} - INTERVAL (k) YEAR"),
    "to_quarters": ("{moment} + to_quarters(k)",),
    "to_months": ("{moment} + to_months(k)", "{moment} - INTERVAL '13' MONTH", "{moment} + INTERVAL '-1 month'"),
    "to_weeks": ("{moment} + to_weeks(k)", "{moment} - INTERVAL 2 WEEK"),
    "to_days": ("{moment} + to_days(k)", "{moment} - INTERVAL (k) DAY", "{moment} + INTERVAL 1.7 DAY"),
    "to_hours": ("{moment} + to_hours(k)",),
    "to_minutes": ("{moment} - to_minutes(k)", "{moment} + INTERVAL 90 MINUTE"),
    "to_seconds": ("{moment} + to_seconds(k)", "{moment} + INTERVAL 1.7 SECOND", "{moment} - INTERVAL (n) SECOND"),
    "to_milliseconds": ("{moment} + to_milliseconds(k)", "us + INTERVAL '1.5' MILLISECOND"),
    "to_microseconds": ("{moment} + to_microseconds(k)",),
    # Parts of dates
    "date_part": (
        "extract(year FROM {moment})", "extract(epoch FROM {moment})", "date_part('julian', {moment})",
        "extract(epoch FROM ts - us)", "extract(day FROM ts - us)", "extract(hour FROM us - e)",
        "extract(minute FROM e - us)", "extract(second FROM us - TIMESTAMP '2020-01-01 00:00:00.5')",
        "datepart('mons', {moment})", "date_part('dow', {moment})", "date_part('ms', {moment})",
    ),
    **{
        field: (f"{field}({{moment}})",)
        for field in (
            "year", "quarter", "month", "week", "day", "dayofyear", "dayofweek", "isodow", "hour", "minute", "second",
            "millisecond", "microsecond", "decade", "century", "millennium", "isoyear", "yearweek", "era",
        )
    },
    "doy": ("extract(doy FROM {moment})",),
    "dow": ("extract(dow FROM {moment})",),
    "epoch": ("epoch({moment})",),
    "julian": ("julian({moment})",),
    "date_trunc": tuple(
        f"date_trunc('{unit}', {{moment}})"
        for unit in (
            "millennium", "century", "decade", "year", "quarter", "month", "week", "day", "hour", "minute", "second",
            "millisecond", "microsecond", "isoyear",
        )
    ),
    "date_diff": (
        *(
            f"date_diff('{unit}', {{moment}}, {{moment}})"
            for unit in (
                "millennium", "century", "decade", "year", "quarter", "month", "week", "day", "hour", "minute",
                "second", "millisecond", "microsecond",
            )
        ),
        "datediff('day', e, '2020-06-01')", "date_diff('day', '2020-06-01', us)",
        "date_diff('hour', us, '2020-06-01 10:30:00')",
    ),
    "date_sub": (
        *(
            f"date_sub('{unit}', {{moment}}, {{moment}})"
            for unit in (
                "millennium", "century", "decade", "year", "quarter", "month", "week", "day", "hour", "minute",
                "second", "millisecond", "microsecond",
            )
        ),
        "datesub('year', e, '2020-06-01')",
    ),
    # Dates made and shown
    "date_add": ("date_add({moment}, INTERVAL '3 months')", "date_add(e, k)"),
    "dayname": ("dayname({moment})",),
    "monthname": ("monthname({moment})",),
    "days_in_month": ("days_in_month({moment})",),
    "last_day": ("last_day({moment})",),
    "make_date": (
        "make_date({integer}, {integer}, {integer})", "make_date(2000 + k, n % 14, k)", "make_date(100 * n, 2, 29)",
    ),
    "epoch_ms": ("epoch_ms({moment})", "epoch_ms({integer})", "epoch_ms(i)"),
    "epoch_us": ("epoch_us({moment})",),
    "make_timestamp": ("make_timestamp({integer})", "make_timestamp(i)"),
    "strftime": (
        "strftime({moment}, '%Y-%m-%d %H:%M:%S.%f %g')", "strftime({moment}, '%A %a %B %b %p %I %j %y')",
        "strftime({moment}, '%u %w %U %W %V %G %c %x %X %%')", "strftime({moment}, '%-d.%-m.%-y %-H %-I %-M %-S %-j')",
    ),
    "time_bucket": (
        "time_bucket(INTERVAL '1 month', {moment})", "time_bucket(INTERVAL '7 days', {moment})",
        "time_bucket(INTERVAL '2 hours', {moment})", "time_bucket(INTERVAL '5 years', {moment})",
        "time_bucket(INTERVAL '1 day 12 hours', {moment})",
    ),
    # Patterns
    "~~": ("{text} LIKE '%o_t%'",), "~~*": ("{text} ILIKE 'n%'",),
    "!~~": ("{text} NOT LIKE '%o_t%'",), "!~~*": ("{text} NOT ILIKE 'n%'",),
    "like_escape": (r"{text} LIKE '%\%%' ESCAPE '\'",), "ilike_escape": (r"{text} ILIKE 'N\_%' ESCAPE '\'",),
    "not_like_escape": ("{text} NOT LIKE '%$_%' ESCAPE '$'",),
    "not_ilike_escape": ("{text} NOT ILIKE 'x$%' ESCAPE '$'",),
    "~~~": ("{text} GLOB 'N*[a-t]h'", "{text} GLOB 'a['", "{text} GLOB '*?*a*'"),
    "regexp_matches": (
        "regexp_matches({text}, '^[A-Z][a-z]+$')", "regexp_matches({text}, 'n(o|ö)r?t{{1,3}}', 'i')",
        "{text} ~ 'x+y?'", r"regexp_matches({text}, '\d\.\d')", "regexp_matches({text}, 'a.b', 's')",
        "{text} !~ '^$'", "{text} ~* 'NORTH'", "regexp_matches({text}, '')",
    ),
    "regexp_full_match": (
        "regexp_full_match({text}, '[a-z]*')", "{text} SIMILAR TO 'N.*'", "{text} NOT SIMILAR TO '.'",
    ),
    "regexp_extract": (
        "regexp_extract({text}, '[0-9]+')", "regexp_extract({text}, '(.)(.)', 2)",
        "regexp_extract({text}, '(N)', 1, 'i')", "regexp_extract({text}, 'x*')",
    ),
    "regexp_replace": (
        "regexp_replace({text}, '[0-9]', '#', 'g')", "regexp_replace({text}, 'x*', '-', 'g')",
        "regexp_replace({text}, '.', '')", "regexp_replace(t, '', 'ab', 'g')",
    ),
    # Text
    "contains": ("contains({text}, {text})",),
    "starts_with": ("starts_with({text}, {text})", "prefix(s, '')", "s ^@ 'N'"),
    "ends_with": ("ends_with({text}, {text})", "suffix(s, 'h')"),
    "lower": ("lower({text})", "lcase(s)"),
    "upper": ("upper({text})", "ucase(s)"),
    "reverse": ("reverse({text})",),
    "length": ("length({text})", "len(s)", "char_length(t)", "character_length(t)"),
    "strlen": ("strlen({text})",),
    "bit_length": ("bit_length({text})",),
    "strpos": ("strpos({text}, {text})", "position('o' IN s)", "instr(s, '')"),
    "ascii": ("ascii({text})",),
    "unicode": ("unicode({text})", "ord(s)"),
    "strip_accents": ("strip_accents({text})",),
    "left": ("left({text}, 2)", "left({text}, -1)", "left(s, 0)", "left(s, -1000000)"),
    "right": ("right({text}, 2)", "right({text}, -1)", "right(s, 0)", "right(s, -1000000)"),
    "split_part": (
        "split_part({text}, 'o', 1)", "split_part({text}, '', 2)", "split_part({text}, 'r', -1)",
        "split_part(s, ' ', 0)",
    ),
    "translate": ("translate({text}, 'North', 'xy')", "translate({text}, 'é', '😀b')", "translate(s, '', 'a')"),
    "replace": ("replace({text}, 'o', 'é😀')", "replace({text}, '', 'x')", "replace(s, 'x', 'abc')"),
    "chr": ("chr({integer})", "chr(64 + n)", "chr(55000 + n * 100)"),
    "trim": ("trim({text})", "trim({text}, 'Nh x')", "trim(both 'x' from s)", "trim(s, '')"),
    "ltrim": ("ltrim({text})", "ltrim({text}, 'Nx')"),
    "rtrim": ("rtrim({text})", "rtrim({text}, 'hx')"),
    "substring": (
        "substring({text}, 2)", "substring({text}, -3, 2)", "substring({text}, 0, 2)", "substring({text}, 2, -1)",
        "substring(s, k, n)", "substring(s from 2 for 3)", "substr(s, strpos(s, 'o'))", "substring(s, k)",
    ),
    "||": ("{text} || {text}",),
    "concat": ("concat({text}, {text})", "concat(s, NULL, t)"),
    "concat_ws": ("concat_ws(', ', {text}, {text})", "concat_ws('', s, NULL, t)"),
    # Hashes
    "md5": ("md5({text})",), "sha1": ("sha1({text})",), "sha256": ("sha256({text})",),
    "md5_number_lower": ("md5_number_lower({text})", "md5_number_lower(s) % 10"),
    "md5_number_upper": ("md5_number_upper({text})", "md5_number_upper(s) % 10"),
}  # fmt: skip

# Forms of SQL that are no functions.
FORMS = (
    "{number} = {number}", "{number} <> {number}", "{number} < {number}", "{number} >= {number}",
    "{text} = {text}", "{text} < {text}", "{moment} <= {moment}", "e < '2020-05-05'", "us > '2020-05-05'",
    "us >= '2020-05-05 10:00:00'", "'2020-05-05' = e", "e IN ('2020-01-01', '2020-02-02')", "e = '2020-05-05 00:00'",
    "{number} IS DISTINCT FROM {number}", "{number} IS NOT DISTINCT FROM {number}", "e IS DISTINCT FROM '2020-01-01'",
    "{number} BETWEEN {number} AND {number}", "{number} NOT BETWEEN -1 AND 5", "e BETWEEN '2020-01-01' AND us",
    "{integer} IN (1, 2, NULL)", "{text} NOT IN ('North', '')", "{number} IS NULL", "{text} IS NOT NULL", "s ISNULL",
    "{truth} AND {truth}", "{truth} OR {truth}", "NOT {truth}", "{truth} IS TRUE", "{truth} IS NOT FALSE",
    "{truth} IS UNKNOWN", "CASE WHEN {truth} THEN {number} WHEN {truth} THEN {number} END",
    "CASE k WHEN 1 THEN s WHEN 2 THEN t ELSE 'x' END", "CASE e WHEN '2020-01-01' THEN 1 ELSE 0 END",
    "{moment} - {moment} >= INTERVAL '36 hours'", "us - e = INTERVAL '1 day'", "-(us - e) < INTERVAL '0 days'",
    "us + (us - e)", "e - (INTERVAL '1 day' + INTERVAL '2 hours')", "e - INTERVAL '1 month' * 2",
    "CAST({number} AS TINYINT)", "CAST({number} AS SMALLINT)", "CAST({number} AS INTEGER)", "CAST({number} AS BIGINT)",
    "CAST({number} AS HUGEINT)", "CAST({number} AS DOUBLE)",
    "CAST({number} AS FLOAT)", "CAST({number} AS DECIMAL(5, 2))", "CAST({number} AS DECIMAL(38, 0))",
    "CAST({number} AS VARCHAR)", "CAST({number} AS BOOLEAN)", "CAST({truth} AS INTEGER)", "CAST({truth} AS DOUBLE)",
    "CAST({truth} AS DECIMAL(3, 1))", "CAST({truth} AS VARCHAR)", "CAST({text} AS TINYINT)", "CAST({text} AS INTEGER)",
    "CAST({text} AS BIGINT)", "TRY_CAST({text} AS HUGEINT)",
    "TRY_CAST({text} AS DOUBLE)", "CAST({text} AS FLOAT)", "CAST({text} AS DECIMAL(10, 1))", "CAST({text} AS DATE)",
    "TRY_CAST({text} AS TIMESTAMP)", "CAST({text} AS BOOLEAN)", "CAST({moment} AS DATE)", "CAST({moment} AS TIMESTAMP)",
    "CAST({moment} AS VARCHAR)", "CAST('12' AS INTEGER) + k", "CAST(NULL AS INTEGER) + k", "s::text", "k::real",
    "DATE '2020-01-01 12:00:00'", "TIMESTAMP '2020-01-01'",
    "CAST(s AS SMALLINT)",
)  # fmt: skip

FUNCTION_CASES = tuple((name, use) for name, uses in CASES.items() for use in uses)
