"""What `dither demo` says, in English, and the line of Chinese under each heading."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CATALOG", "CHAPTERS", "LEGEND", "Chapter", "QUESTIONS", "Question"]


@dataclass(frozen=True)
class Chapter:
    english: str
    chinese: str


@dataclass(frozen=True)
class Question:
    sql: str
    epsilon: str
    why: Chapter


CHAPTERS = {
    "title": Chapter(
        "Real records: 20,190 years of 5,912 people in the RAND Health Insurance Experiment",
        "真实数据: 兰德健康保险实验, 5,912 人, 20,190 人年",
    ),
    "catalog": Chapter(
        "The owner's catalog says whom to protect, what may be seen, and how much may be told in all",
        "数据主人的目录: 保护谁 (隐私单位), 能看什么, 总共能说多少 (隐私预算)",
    ),
    "ask": Chapter("The analyst asks plain SQL", "分析者用普通 SQL 提问"),
    "attack": Chapter(
        "Why noise: two harmless sums tell that Chandler has diabetes",
        "为什么要加噪声: 两个无害的求和, 相减就泄露 Chandler 的病情",
    ),
    "budget": Chapter("The ledger charges first and never forgets", "账本先记账, 再读数据, 永不遗忘"),
}

CATALOG = """\
[dataset]
name = "health"
nulls = "drop"
[source]
url = "randhie.parquet"
[unit]
name = "person"
[budget]
epsilon = 3
[tables.care]
privacy_unit = "person"
max_rows_per_unit = 5
[tables.care.columns]
health      = { type = "text", values = ["excellent", "good", "fair", "poor"] }
coinsurance = { type = "integer", values = [0, 25, 50, 95, 100] }
visits      = { type = "integer", bounds = [0, 50] }
"""

QUESTIONS = (
    Question(
        "SELECT health, COUNT(*) AS years FROM care GROUP BY health",
        "0.5",
        Chapter("How do people rate their health?", "人们如何评价自己的健康?"),
    ),
    Question(
        "SELECT coinsurance, AVG(visits) AS visits FROM care GROUP BY coinsurance ORDER BY coinsurance",
        "1",
        Chapter("Do people who pay more of the bill see the doctor less?", "自付比例越高, 看病越少吗?"),
    ),
    Question(
        "SELECT health, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS percent FROM care GROUP BY health "
        "ORDER BY percent DESC",
        "0.5",
        Chapter("In percent, largest first: the counts are paid for", "换算成百分比并排序: 计数已经付过费"),
    ),
)

LEGEND = "exact: computed beside Dither, for this demonstration only. One exact value in twenty lies outside its ±."
