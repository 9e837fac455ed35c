"""Why a noisy number has no interval, in one sentence.

Flow: under the table that shows it (`show`), in `about`, and in what is published. The reasons are those that
`plan.dependence` and `answer.spread` give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.plan.dependence import Why

if TYPE_CHECKING:
    from dither.answer.answer import Answer

__all__ = ["sentences"]

_ENGLISH = {
    Why.GROUPS: "its groups are made of noisy numbers",
    Why.ROWS: "noise decides which rows are in it",
    Why.ORDER: "it follows the order of noisy numbers, which equal ones have by chance",
    Why.FOLDS: "it picks among noisy numbers, as the largest less the least does, or a distance, or a remainder",
    Why.CHOSEN: "a quantile errs in rank, and how far that is in value depends on the data",
    Why.HIDDEN: "how many groups were not shown is private",
    Why.LEANS: "noise moves it to one side, as it does squares and variances, too far to be corrected",
    Why.UNMATCHED: "nothing tells its rows apart in replicates",
    Why.LARGE: "its replicates would be too many rows",
    Why.FAILS: "its SQL fails on replicates of the noise",
    Why.ALONE: "only those of counts, sums and means are known to hold together",
}
_CHINESE = {
    Why.GROUPS: "它的分组本身由带噪声的数构成",
    Why.ROWS: "哪些行计入其中由噪声决定",
    Why.ORDER: "它取决于带噪声的数的次序, 相等者的先后出于偶然",
    Why.FOLDS: "它在带噪声的数之间取舍, 如极差、绝对值或余数",
    Why.CHOSEN: "分位数的误差在于名次, 折合成数值多少取决于数据",
    Why.HIDDEN: "有多少组未显示是保密的",
    Why.LEANS: "噪声使它偏向一侧 (如平方与方差), 偏得太远, 无法校正",
    Why.UNMATCHED: "在噪声的重复抽取中无法辨认它的行",
    Why.LARGE: "噪声的重复抽取行数过多",
    Why.FAILS: "其 SQL 在噪声的重复抽取上出错",
    Why.ALONE: "只有计数、求和与均值的区间已知能同时成立",
}
_NONE = {"en": "No interval is known for {columns}: {why}.", "zh": "{columns} 没有区间: {why}。"}
_SOME = {
    "en": "Where ± is ? in {columns}, no interval is known: {why}.",
    "zh": "{columns} 中标 ± ? 之处没有区间: {why}。",
}
_SHOWN = {"en": "Groups that are not shown are not in {columns}.", "zh": "未显示的组不计入 {columns}。"}


def sentences(answer: Answer, language: str = "en") -> tuple[str, ...]:
    """One for each reason, naming the columns, and one for those that add up shown groups; () where there is nothing to
    say: every noisy number has an interval."""
    words = _CHINESE if language == "zh" else _ENGLISH
    comma = "、" if language == "zh" else ", "
    grouped: dict[tuple[bool, Why], list[str]] = {}
    for position, why in sorted(answer.without_interval.items()):
        grouped.setdefault((answer.lacks_interval(position), why), []).append(answer.columns[position])
    shown = [answer.columns[position] for position in answer.of_shown]
    return tuple(
        (_NONE if everywhere else _SOME)[language].format(columns=comma.join(names), why=words[why])
        for (everywhere, why), names in grouped.items()
    ) + ((_SHOWN[language].format(columns=comma.join(shown)),) if shown else ())
