"""Hashes of texts, for buckets: the same in every version, on every engine, on every day.

MD5 and SHA are of the text's UTF-8 bytes. They are for sorting people into buckets, not for hiding texts: who knows a
text knows its hash.
"""

from __future__ import annotations

from dither.sql.functions.signature import Row, define, text
from dither.sql.types import INTEGER, TEXT

SECTION = "Hashes for buckets"
NUMBER_ENDS = (0, 2**64 - 1)

define("md5", row=Row((text,), TEXT, "md5({0})", "md5(region)", SECTION, length=lambda arg: 32))
define("sha1", row=Row((text,), TEXT, "sha1({0})", "sha1(region)", SECTION, length=lambda arg: 40))
define("sha256", row=Row((text,), TEXT, "sha256({0})", "sha256(region)", SECTION, length=lambda arg: 64))
for _half in ("lower", "upper"):
    define(
        f"md5_number_{_half}",
        row=Row(
            (text,),
            INTEGER,
            f"CAST(md5_number_{_half}({{0}}) AS HUGEINT)",
            f"md5_number_{_half}(region) % 10",
            SECTION,
            range=lambda arg: NUMBER_ENDS,
        ),
    )
