"""What ledgers of notions apart keep in English words (a notion, what was released, a loss), in Chinese.

Flow: the statement of a file's places, that of a data set, and an opaque statistic's own words read what the ledger
says and say it in their reader's language. Names, levels and numbers are as somebody wrote them. Words this does not
know, of another version, stay.
"""

from __future__ import annotations

import re

__all__ = ["in_language"]

_CHINESE: tuple[tuple[str, str], ...] = (
    (r"metric privacy in (?P<metric>.*)", "度量隐私, 度量为{metric}"),
    (r"metres in the plane(?P<centre>.*)", "平面上的米{centre}"),
    (r" about (?P<lat>-?[\d.e+-]+), (?P<lon>-?[\d.e+-]+)(?P<unit>.*)", " (以 {lat}, {lon} 为中心){unit}"),
    (r", each row by itself", ", 每一行单独计算"),
    (r", each person of column (?P<column>.*)", ", 按列 {column} 中的每个人计算"),
    (
        r"level (?P<level>.*) within (?P<radius>\S+), each row a person of its own",
        "{radius} 以内水平 {level}, 每一行各算一人",
    ),
    (
        r"level (?P<level>.*) within (?P<radius>\S+), at most one point of a person",
        "{radius} 以内水平 {level}, 每人至多一个点",
    ),
    (
        r"level (?P<level>.*) within (?P<radius>\S+), at most (?P<count>\d+) points of a person",
        "{radius} 以内水平 {level}, 每人至多 {count} 个点",
    ),
    (r"random DP over (?P<population>.*)", "总体 {population} 上的随机差分隐私 (random DP)"),
    (
        r"statistic (?P<name>.*), (?P<numbers>a number|\d+ numbers), of (?P<rows>[\d,]+) rows of (?P<table>.*); norm "
        r"(?P<norm>\S+), difference (?P<rank>[\d,]+) of (?P<samples>[\d,]+), settings (?P<settings>\w+)",
        "统计量 {name}, {numbers}, 取自 {table} 的 {rows} 行; 范数 {norm}, 第 {rank} 大的差 (共 {samples} 个), "
        "设置 {settings}",
    ),
    (r"the rows of the public table (?P<table>.*)", "公开表 {table} 的行"),
    (r"a number", "一个数"),
    (r"(?P<count>\d+) numbers", "{count} 个数"),
)
_INNER = ("metric", "centre", "unit", "numbers", "population")
"""Parts that are words of these kinds again."""


def in_language(words: str, language: str) -> str:
    """The ledger's words for a reader of this language."""
    if language == "en":
        return words
    for pattern, chinese in _CHINESE:
        found = re.fullmatch(pattern, words, re.DOTALL)
        if found is not None:
            parts = {
                name: in_language(part, language) if name in _INNER else part
                for name, part in found.groupdict().items()
            }
            return chinese.format(**parts)
    return words
