"""What a release of places promises and does not, in plain words, in English and Chinese.

Flow: the terminal summary, the page and the statement of `dither perturb` say these sentences.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dither.accounting.metric import MetricLoss
from dither.errors import InvalidParameter
from dither.exact import decimal_text, round_up

__all__ = ["LANGUAGES", "TEXTS", "epsilon_text", "factor_text", "length_text", "say"]

LANGUAGES = ("en", "zh")

TEXTS: dict[str, tuple[str, str]] = {
    "title": ("Places with noise: {name}", "加噪的位置: {name}"),
    "made": (
        "Made on {date} by Dither {version} from the ledger of this file's places. No place was read for it.",
        "由 Dither {version} 于 {date} 根据该文件位置的账本生成, 未读取任何位置。",
    ),
    "h_notion": ("1. The notion", "1. 隐私概念"),
    "notion": (
        "Everything released here is under metric privacy ({metric}), also called geo-indistinguishability. For two "
        "places d metres apart, what was released changes their odds by at most e^(epsilon d), whatever else the "
        "reader knows. epsilon has a unit: nats per metre.",
        "此处发布的全部内容满足度量隐私 ({metric}), 亦称地理不可区分性。对相距 d 米的两个位置, 已发布内容至多使其机会"
        "比改变 e^(epsilon d) 倍, 无论读者还知道什么。epsilon 有单位: 每米奈特。",
    ),
    "rounding": (
        "Each raw place was first rounded to a lattice; with the rounding, d metres count as d + sqrt(2) times the "
        "lattice's step. The distance is that of the plane named above, about a public centre.",
        "每个原始位置先舍入到格点; 计入舍入后, d 米按 d + sqrt(2) 倍格距计算。距离指上述以公开中心展开的平面上的距离。",
    ),
    "h_spent": ("2. What was released", "2. 已发布内容"),
    "t_spent": ("when|what|epsilon per metre|state", "时间|内容|每米 epsilon|状态"),
    "nothing": ("Nothing was released yet.", "尚未发布任何内容。"),
    "total": (
        "All of it together costs {who} at most epsilon {epsilon} per metre: two places {near} apart differ in "
        "odds by at most {near_factor}, {far} apart by at most {far_factor}.",
        "合计对{who}至多每米 epsilon {epsilon}: 相距 {near} 的两处, 机会比至多差 {near_factor} 倍; 相距 {far} 的两处, "
        "至多 {far_factor} 倍。",
    ),
    "each_row": ("each row", "每一行"),
    "each_person": ("each person (column {column})", "每个人 (列 {column})"),
    "limit": (
        "The ledger lets it grow to epsilon {epsilon} per metre.",
        "账本允许其增至每米 epsilon {epsilon}。",
    ),
    "no_limit": ("No allowance limits it.", "没有额度限制。"),
    "reserved": ("charged, not shown", "已计入, 未展示"),
    "answered": ("released", "已发布"),
    "h_not": ("3. What it does not promise", "3. 不承诺什么"),
    "not_presence": (
        "It hides where a place is within a neighbourhood. It does not hide that somebody is in the file, how many "
        "places there are, or places far apart: a person in another city is told from one in this.",
        "它隐藏位置在邻近范围内的何处; 不隐藏某人在文件中, 不隐藏位置的数目, 也不隐藏相距很远的差别: 身处另一城市的人可"
        "与本市的人区分开。",
    ),
    "not_dp": (
        "It is not differential privacy, never adds to it and is never converted: an epsilon here and an epsilon in "
        "the statement of a database are different quantities.",
        "它不是差分隐私, 永不与之相加, 也不能换算: 此处的 epsilon 与数据库声明中的 epsilon 是不同的量。",
    ),
    "not_columns": (
        "Columns released beside the places (`--keep`) are as they were: nothing here protects them.",
        "与位置一同发布的列 (`--keep`) 保持原样: 此处不作任何保护。",
    ),
    "not_trail": (
        "k places of one person cost k times as much, and that was charged for the number stated. Rows of one person "
        "that no column told to be the same person's were counted as different people's.",
        "同一人的 k 个位置花费 k 倍, 已按声明的数目计入。若没有列表明若干行属于同一人, 则视为不同的人。",
    ),
    "not_ledger": (
        "It holds for the ledger named here, kept and never set back; a prior, region or centre must have been public.",
        "以上以本账本为准, 账本须妥善保存且不回退; 先验, 区域与中心须是公开的。",
    ),
    "h_check": ("4. To check", "4. 核对"),
    "check": ("Last entry of the ledger: {head}.", "账本最后一条: {head}。"),
}


def say(key: str, language: str = "en", **values: object) -> str:
    """The sentence in this language. Raises InvalidParameter for a language that is not there."""
    if language not in LANGUAGES:
        raise InvalidParameter("language", expected="en or zh", found=language)
    return TEXTS[key][LANGUAGES.index(language)].format(**values)


def length_text(metres: float) -> str:
    """Three figures and a unit, for people."""
    if metres >= 10_000:
        return f"{metres / 1000:,.3g} km"
    return f"{metres:,.0f} m" if metres >= 100 else f"{metres:.3g} m"


def epsilon_text(loss: MetricLoss) -> str:
    """Nats per metre, rounded up to 9 places."""
    return decimal_text(round_up(loss.epsilon, Fraction(1, 10**9)), 9)


def factor_text(loss: MetricLoss, metres: Fraction | int) -> str:
    """The largest change of odds of places this far apart, rounded up."""
    factor = loss.factor(metres)
    if factor < 100_000:
        return decimal_text(round_up(factor, Fraction(1, 100 if factor < 1000 else 1)), 2)
    return f"10^{len(str(math.ceil(factor)))}"
