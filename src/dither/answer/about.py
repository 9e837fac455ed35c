"""An answer in plain words, English or Chinese: what was asked, how the noise was made, what the numbers can tell.

Flow: `Answer.about`, `dither ask --about`. Says nothing that the answer and its receipt do not say; adds no number but
the odds, which follow from the price alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.accounting import Price, epsilon_of
from dither.answer.picks import picks_of
from dither.errors import InvalidParameter
from dither.plan import nodes
from dither.plan.explain import price_text

if TYPE_CHECKING:
    from dither.answer.answer import Answer

__all__ = ["LANGUAGES", "about", "guess_after", "picks_sentence", "price_sentence"]

LANGUAGES = ("en", "zh")
GUESS_BEFORE = 0.01
SMALL_CHANCE = Fraction(1, 10**6)
"""Where noise is Gaussian, the odds hold except with this probability."""


def about(answer: Answer, language: str = "en") -> str:
    """Paragraphs, one per line. Raises InvalidParameter for a language other than en and zh."""
    words = _words(language)
    paragraphs = [
        words.invented if answer.invented else "",
        words.asked.format(question=" ".join(answer.plan.text.split())),
        words.protected.format(unit=answer.unit_name) + "".join(_kept(answer, words)),
        words.noise.format(unit=answer.unit_name) + "".join(_noise(answer, words)),
        answer.together(language) or words.interval,
        *answer.unknown(language),
        words.unbiased,
        *answer.presented(language),
        picks_sentence(answer, language),
        price_sentence(answer, language) + _odds(answer, words),
        _assertions(answer, words),
    ]
    return "\n".join(paragraph for paragraph in paragraphs if paragraph)


def price_sentence(answer: Answer, language: str) -> str:
    words = _words(language)
    if _is_free(answer.charged):
        return words.free
    shown = words.would_cost if answer.invented else words.price
    return shown.format(price=price_text(answer.charged))


def picks_sentence(answer: Answer, language: str) -> str:
    """A warning where rows are picked by noisy numbers; '' where they are not."""
    words, found = _words(language), picks_of(answer.plan)
    if not found:
        return ""
    return words.picks.format(verbs=words.comma.join(words.pick_verbs[name] for name in found))


def guess_after(before: float, epsilon: float) -> float:
    """The most a guess of probability `before` can become when its odds grow by e^epsilon at most; rounded up."""
    odds = before / (1 - before) * math.exp(min(epsilon, 700.0))
    return math.nextafter(odds / (1 + odds), 1.0)


@dataclass(frozen=True)
class _Words:
    """One language. Braces are filled in."""

    invented: str
    asked: str
    protected: str
    kept: str
    noise: str
    vector: str
    reused: str
    interval: str
    unbiased: str
    picks: str
    pick_verbs: dict[str, str]
    comma: str
    price: str
    would_cost: str
    free: str
    odds: str
    odds_except: str
    assertions: str


_ENGLISH = _Words(
    invented="INVENTED: these rows are made up from the catalog; nothing here is about anybody.",
    asked="Question: {question}",
    protected="Protected: each {unit}, with all of their rows together.",
    kept=" At most {rows} rows of one {unit} count in {table}; any further rows of theirs are left out.",
    noise="Noise: whatever one {unit} can add was bounded first, then random noise of that size was added.",
    vector="\n  {what}: {mechanism} {scale}; one {unit} moves it by at most {distance}{reused}.",
    reused=" (measured before, used again)",
    interval=(
        "What ± means: in 95 of 100 answers the true value lies within it: the value over the rows kept, with values "
        "moved inside their bounds. This holds for each number by itself, for a question chosen before its numbers "
        "were seen; for numbers computed from several others it holds nearly."
    ),
    unbiased=(
        "Counts and sums are right on average, before any rows are picked by them: the noise adds as often as it takes "
        "away. Means and other ratios nearly are. A negative count is noise around a small one."
    ),
    picks=(
        "Beware: this question {verbs} by noisy numbers, so it may show the wrong rows, and what it shows tends to be "
        "too extreme."
    ),
    pick_verbs={"sort": "sorts", "filter": "filters", "top": "takes the top"},
    comma=" and ",
    price="Price: {price}.",
    would_cost="Price: nothing; asked of the real data it would cost up to {price}.",
    free="Price: nothing; all it needs was released before.",
    odds=(
        " By this answer, a guess about what one {unit}'s rows say that was held at {before} before can become at most "
        "{after}, whatever else is known."
    ),
    odds_except=" (This fails with probability at most {delta}.)",
    assertions="It rests on: ",
)

_CHINESE = _Words(
    invented="虚构数据 (INVENTED): 这些行只按目录编造, 与任何人无关。",
    asked="提问: {question}",
    protected="隐私单位: 每一个 {unit}, 连同其全部行。",
    kept="在 {table} 中, 每个 {unit} 最多计入 {rows} 行, 多出的行截断不计。",
    noise="噪声: 先限定一个 {unit} 最多能改变多少 (灵敏度), 再加入相应大小的随机噪声。",
    vector="\n  {what}: {mechanism} {scale}; 一个 {unit} 最多改变 {distance}{reused}。",
    reused=" (此前已测量, 直接复用)",
    interval=(
        "± 的含义: 100 次回答中有 95 次真实值落在区间内; 真实值指保留的行、数值收进上下界之后的结果。"
        "它对每个数单独成立, 且要求提问在看到数字之前就已选定; 由多个数算出的数, 区间是近似的。"
    ),
    unbiased=(
        "在按数字挑选行之前, 计数与求和平均而言是准的: 噪声增减机会相等。均值等比值近似如此。"
        "负的计数只是小计数加了噪声。"
    ),
    picks="注意: 此提问按带噪声的数字{verbs}, 因此可能选错行, 选出的数也往往偏于极端。",
    pick_verbs={"sort": "排序", "filter": "筛选", "top": "取前几名"},
    comma="、",
    price="价格: {price}。",
    would_cost="价格: 零; 若向真实数据提问, 最多花费 {price}。",
    free="价格: 零; 所需的数都已发布过。",
    odds="凭这一回答, 对某个 {unit} 的行内容的猜测, 若原来把握为 {before}, 之后最多升到 {after}, 无论还知道什么。",
    odds_except=" (此说失效的概率至多 {delta}。)",
    assertions="所依赖的声明: ",
)


def _words(language: str) -> _Words:
    if language not in LANGUAGES:
        raise InvalidParameter("language", expected="en or zh", found=language)
    return _ENGLISH if language == "en" else _CHINESE


def _kept(answer: Answer, words: _Words) -> list[str]:
    plans = [*(phase.plan for phase in answer.plan.phases), answer.plan]
    measures = [measure for plan in plans for measure in plan.measures]
    scans = {scan.table: scan.tau for m in measures for scan in nodes.scans_of(m.input) if scan.truncated}
    return [
        words.kept.format(rows=f"{tau:,}", unit=answer.unit_name, table=table) for table, tau in sorted(scans.items())
    ]


def _noise(answer: Answer, words: _Words) -> list[str]:
    return [
        words.vector.format(
            what=line.what,
            mechanism=line.mechanism,
            scale=_number(line.scale),
            unit=answer.unit_name,
            distance=_number(line.distance),
            reused=words.reused if line.reused else "",
        )
        for line in answer.receipt.vectors
    ]


def _odds(answer: Answer, words: _Words) -> str:
    """Two steps of the promise, not one: from one {unit}'s rows to none, and from none to other rows. Where the catalog
    protects against replacement this is one step, and the figure errs on the safe side."""
    charged = answer.charged
    if _is_free(charged) or answer.invented:
        return ""
    if charged.epsilon is not None:
        epsilon, failure = charged.epsilon * 2, charged.delta
    else:
        # Two steps of rho-zCDP are 4 rho (group privacy grows with the square).
        epsilon, failure = epsilon_of(charged.rho * 4, SMALL_CHANCE), charged.delta + SMALL_CHANCE
    text = words.odds.format(
        unit=answer.unit_name, before=_percent(GUESS_BEFORE), after=_percent(guess_after(GUESS_BEFORE, float(epsilon)))
    )
    return text + (words.odds_except.format(delta=f"{float(failure):.2g}") if failure else "")


def _assertions(answer: Answer, words: _Words) -> str:
    return words.assertions + " ".join(answer.receipt.assertions) if answer.receipt.assertions else ""


def _is_free(charged: Price) -> bool:
    return charged.epsilon == 0 and charged.rho == 0


def _number(exact_text: str) -> str:
    return f"{float(Fraction(exact_text)):.6g}"


def _percent(share: float) -> str:
    """Two digits, rounded up; never a round 100."""
    percent = share * 100
    if percent > 99.9:
        return "> 99.9 %"
    digits = 1 - math.floor(math.log10(percent))
    return f"{math.ceil(percent * 10**digits - 1e-9) / 10**digits:.10g} %"
