"""What was done to numbers after the noise, to make them fit for a page: named options, and sentences for each.

Flow: `present` applies them; the table's footer and `about` say them. None of them touches the noisy numbers that were
paid for, which stay at hand, and none costs anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.exact import decimal_text

__all__ = ["Level", "Presentation", "THRESHOLDS", "letter_of"]

THRESHOLDS = ((0.05, "A"), (0.10, "B"), (0.20, "C"), (0.33, "D"), (0.67, "E"))
"""Largest half-width, as a part of the number, for each letter; F beyond. E and F begin where Statistics Canada's
guideline for household surveys says `use with caution` and `too unreliable to be published`: at coefficients of
variation of 16.6 % and 33.3 %, and a 95 % half-width is about two standard errors. See
docs/how-to/present-and-publish.md for sources."""


@dataclass(frozen=True)
class Level:
    """All intervals hold together with `confidence`, over so many measured numbers."""

    confidence: Fraction
    numbers: int
    independent: bool


@dataclass(frozen=True)
class Presentation:
    round_to: Fraction | None = None
    suppress_below: Fraction | None = None
    nonnegative: bool = False
    reliability: bool = False
    other: str | None = None
    level: Level | None = None
    """Where all ± hold together, and not each by itself at 95 %."""

    def together(self, language: str = "en") -> str:
        """What ± then means; '' where each holds by itself."""
        if self.level is None:
            return ""
        words = _CHINESE if language == "zh" else _ENGLISH
        rule = words["independent" if self.level.independent else "bonferroni"]
        percent = decimal_text(self.level.confidence * 100, 6)
        return words["together"].format(percent=percent, rule=rule.format(numbers=f"{self.level.numbers:,}"))

    def sentences(self, language: str = "en") -> tuple[str, ...]:
        """One for each option that was used."""
        words = _CHINESE if language == "zh" else _ENGLISH
        found = []
        if self.suppress_below is not None:
            key = "other" if self.other is not None else "suppress"
            found.append(words[key].format(limit=decimal_text(self.suppress_below), other=self.other))
        if self.nonnegative:
            found.append(words["nonnegative"])
        if self.round_to is not None:
            found.append(words["round"].format(step=decimal_text(self.round_to)))
        if self.reliability:
            shares = ", ".join(f"{letter} {round(share * 100)} %" for share, letter in THRESHOLDS)
            found.append(words["reliability"].format(shares=shares))
        return tuple(found)

    def names(self) -> dict[str, object]:
        """The options as they were given, for programs."""
        given: dict[str, object] = {}
        if self.round_to is not None:
            given["round_to"] = decimal_text(self.round_to)
        if self.suppress_below is not None:
            given["suppress_below"] = decimal_text(self.suppress_below)
        if self.other is not None:
            given["other"] = self.other
        given |= {name: True for name in ("nonnegative", "reliability") if getattr(self, name)}
        return given


def letter_of(half_width: float, value: float) -> str:
    """A to F by the half-width as a part of the number; F where the number is zero."""
    share = half_width / abs(value) if value else float("inf")
    return next((letter for most, letter in THRESHOLDS if share <= most), "F")


_ENGLISH = {
    "together": (
        "All ± together cover every true value in {percent} % of cases, also after picking rows by their numbers "
        "({rule})."
    ),
    "independent": "independent noise in {numbers} measured numbers",
    "bonferroni": "Bonferroni over {numbers} measured numbers",
    "suppress": (
        "suppress_below={limit}: rows with a noisy count below {limit} are shown without numbers (< {limit}, x)."
    ),
    "other": (
        "suppress_below={limit}, other: rows with a noisy count below {limit} were added up into {other!r}, whose ± is "
        "a bound; as noise decides which rows these are, it holds nearly."
    ),
    "nonnegative": (
        "nonnegative: counts and sums that cannot be below 0 are shown as 0 where noise took them below; sums of the "
        "numbers shown are then too large on average."
    ),
    "round": "round_to={step}: counts and sums are rounded to multiples of {step}, ends of intervals outward.",
    "reliability": (
        "reliability: a letter for the half-width as a part of the number, before rounding: up to {shares}, F above; "
        "E is to be used with caution, F is too unreliable to be published."
    ),
}
_CHINESE = {
    "together": "在 {percent} % 的情形下, 全部 ± 同时覆盖各自的真实值, 即使之后按数字挑选行也成立 ({rule})。",
    "independent": "{numbers} 个测量数, 噪声相互独立",
    "bonferroni": "{numbers} 个测量数, 按 Bonferroni 校正",
    "suppress": "suppress_below={limit}: 加噪计数低于 {limit} 的行不显示数字 (< {limit}, x)。",
    "other": (
        "suppress_below={limit}, other: 加噪计数低于 {limit} 的行合并为 {other!r}, 其 ± 是一个上界; "
        "由于哪些行被合并取决于噪声, 它只近似成立。"
    ),
    "nonnegative": ("nonnegative: 不可能为负的计数与总和, 噪声使其低于 0 时显示为 0; 所示数字之和因此平均偏大。"),
    "round": "round_to={step}: 计数与总和四舍五入到 {step} 的倍数, 区间端点向外取整。",
    "reliability": (
        "reliability: 字母表示半宽占数值的比例 (取整之前): 不超过 {shares}, 更大为 F; E 须谨慎使用, F 不宜发布。"
    ),
}
