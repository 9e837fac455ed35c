"""The answer of an opaque statistic under random DP: noisy numbers, and in words at every turn what they promise.

Flow: `session.sampled` makes it. Nothing in here is private; the ledger of the notion keeps its text, so that the same
request key shows it again. An answer without numbers is an explanation: what asking would give and cost.
Relies on `mechanisms.sampled` for the noise.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

from dither.accounting import RandomLoss, one_notion
from dither.answer.apart_words import in_language
from dither.answer.numbers import measured, plain
from dither.answer.show import INVENTED_BANNER, STYLE
from dither.errors import InvalidParameter, LedgerCorrupt
from dither.exact import decimal_text
from dither.mechanisms.sampled import SampledNoise

__all__ = ["SampledAnswer", "SampledFacts"]

LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class SampledFacts:
    """Everything about such an answer but its numbers: public before anything is read."""

    name: str
    """Of the statistic."""
    table: str
    columns: tuple[str, ...]
    unit: str
    """The privacy unit: one row of each is used."""
    rows: int
    """n: how many rows the statistic was given; public."""
    loss: RandomLoss
    samples: int
    rank: int
    norm: int
    scalar: bool
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    otherwise: tuple[float, ...]
    half_widths: tuple[float, ...]
    """Of 95 % intervals, number by number."""
    sensitivities: tuple[float, ...]
    """In each number's own units, were all of the difference in that number."""
    failures: int
    """Of 2 * samples evaluations on public rows, those that gave no answer."""
    invented: bool = False

    @classmethod
    def of(
        cls, noise: SampledNoise, *, name: str, table: str, columns: list[str], unit: str, invented: bool
    ) -> SampledFacts:
        statistic = noise.statistic
        return cls(
            name=name,
            table=table,
            columns=tuple(columns),
            unit=unit,
            rows=noise.rows,
            loss=noise.loss,
            samples=noise.samples,
            rank=noise.rank,
            norm=noise.norm,
            scalar=statistic.scalar,
            lows=tuple(float(low) for low in statistic.lows),
            highs=tuple(float(high) for high in statistic.highs),
            otherwise=tuple(float(value) for value in statistic.value(statistic.fallback())),
            half_widths=noise.half_widths,
            sensitivities=noise.sensitivities,
            failures=noise.failures,
            invented=invented,
        )

    @property
    def what(self) -> str:
        """For the ledger: it depends on what was asked alone, not on what was drawn."""
        settings = json.dumps([self.columns, self.lows, self.highs, self.otherwise])
        numbers = "a number" if self.scalar else f"{len(self.lows)} numbers"
        return (
            f"statistic {self.name!r}, {numbers}, of {self.rows:,} rows of {self.table}; norm {self.norm}, difference "
            f"{self.rank:,} of {self.samples:,}, settings {hashlib.sha256(settings.encode()).hexdigest()[:12]}"
        )

    @property
    def notion(self) -> str:
        """In words; it is on every print."""
        return f"{one_notion([self.loss])}: not differential privacy"


@dataclass(frozen=True)
class SampledAnswer:
    """Noisy numbers of an opaque statistic. `charged` is on a ledger of its own, and adds to no epsilon elsewhere."""

    facts: SampledFacts
    values: tuple[float, ...] | None = None
    """None for an explanation: nothing was asked or charged."""
    entry_hash: str | None = None
    """Of the entry in the ledger's chain: noted outside, it shows whether the ledger was put back."""

    @property
    def charged(self) -> RandomLoss | None:
        """What it cost under random DP; None for an explanation."""
        return None if self.values is None else self.facts.loss

    @property
    def notion(self) -> str:
        return self.facts.notion

    @property
    def half_widths(self) -> tuple[float, ...]:
        """Of 95 % intervals: of the statistic of the rows used, moved into its bounds."""
        return self.facts.half_widths

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """(low, high) of the 95 % interval of each number; empty for an explanation."""
        pairs = zip(self.values or (), self.half_widths, strict=False)
        return tuple((value - half, value + half) for value, half in pairs)

    def scalar(self) -> float:
        """The number of a statistic that gives one. Raises InvalidParameter for a vector or an explanation."""
        if self.values is None or not self.facts.scalar:
            raise InvalidParameter("answer", expected="one number", found=f"{len(self.values or ())} numbers")
        return self.values[0]

    def about(self, language: str = "en") -> str:
        """In plain words: what was done, what ± means, and what is not protected. language: en or zh."""
        if language not in LANGUAGES:
            raise InvalidParameter("language", expected="en or zh", found=language)
        return "\n".join(_paragraphs(self, LANGUAGES.index(language)))

    def to_text(self) -> str:
        """As JSON, exact: what the ledger keeps."""
        facts = {**vars(self.facts), "loss": _loss_texts(self.facts.loss)}
        return json.dumps({"facts": facts, "values": self.values}, sort_keys=True)

    @classmethod
    def from_text(cls, text: str, entry_hash: str | None = None) -> SampledAnswer:
        """What `to_text` wrote. Raises LedgerCorrupt for anything else."""
        try:
            stored = json.loads(text)
            given: dict[str, Any] = dict(stored["facts"])
            given |= {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
            loss = given.pop("loss")
            epsilon, delta, gamma = (Fraction(loss[name]) for name in ("epsilon", "delta", "gamma"))
            facts = SampledFacts(loss=RandomLoss(epsilon, delta, gamma, str(loss["population"])), **given)
            return cls(facts, tuple(float(value) for value in stored["values"]), entry_hash)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LedgerCorrupt("A released answer in the ledger cannot be read.", hint="Run `verify` on it.") from None

    def lines(self) -> tuple[str, ...]:
        """What a print shows, line by line: the numbers, the notion, the price."""
        loss = self.facts.loss
        verb = "Would cost" if self.values is None else "Charged"
        banner = (INVENTED_BANNER,) if self.facts.invented else ()
        return (
            *banner,
            *(f"{name}: {value}" for name, value in _numbers(self)),
            self.notion,
            f"{verb} {_price(loss)}, on a ledger of its own. ± covers the statistic in 95 % of cases.",
        )

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        banner = f'<p class="dither-invented">{escape(INVENTED_BANNER)}</p>' if self.facts.invented else ""
        rows = "".join(
            f'<tr><td>{escape(name)}</td><td class="dither-number">{escape(value)}</td></tr>'
            for name, value in _numbers(self)
        )
        notes = "".join(f"<div>{escape(line)}</div>" for line in self.lines()[-2:])
        return (
            f'<div class="dither-answer"><style>{STYLE}</style>{banner}<table><tbody>{rows}</tbody></table>'
            f'<div class="dither-notes">{notes}</div></div>'
        )


def _numbers(answer: SampledAnswer) -> list[tuple[str, str]]:
    """(label, number ±), with the name of a person's own function made safe for a screen."""
    name = plain(answer.facts.name).value
    shown = []
    for position, half in enumerate(answer.half_widths):
        label = name if answer.facts.scalar else f"{name}[{position}]"
        if answer.values is None:
            shown.append((label, f"a number {measured(0.0, -half, half).interval}"))
        else:
            value = answer.values[position]
            shown.append((label, str(measured(value, value - half, value + half))))
    return shown


def _price(loss: RandomLoss) -> str:
    parts = [f"epsilon {decimal_text(loss.epsilon)}", f"gamma {decimal_text(loss.gamma, 9)}"]
    return ", ".join(parts + ([f"delta {decimal_text(loss.delta, 30)}"] if loss.delta else []))


def _loss_texts(loss: RandomLoss) -> dict[str, str]:
    amounts = {name: str(getattr(loss, name)) for name in ("epsilon", "delta", "gamma")}
    return {**amounts, "population": loss.population}


_TEXTS: dict[str, tuple[str, str]] = {
    "asked": (
        "A program, {name!r}, was run on {rows:,} rows of {table}, one of each {unit}, sorted by their contents.",
        "程序 {name!r} 在 {table} 的 {rows:,} 行上运行 (每个 {unit} 一行, 按内容排序)。",
    ),
    "would": (
        "A program, {name!r}, would be run on {rows:,} rows of {table}, one of each {unit}, sorted by their contents. "
        "Nothing was read or charged.",
        "程序 {name!r} 将在 {table} 的 {rows:,} 行上运行 (每个 {unit} 一行, 按内容排序)。尚未读取数据, 也未计费。",
    ),
    "notion": (
        "This is random DP, not differential privacy. How far one row moves the program's answer is not proved; it was "
        "measured on {samples:,} pairs of data sets drawn from {population}, which differ in one row. The noise fits "
        "difference number {rank:,} of these, sorted by size.",
        "这是随机差分隐私 (random DP), 不是差分隐私。一行对程序结果的影响没有证明, 只在从 “{population}” 抽取、只差"
        "一行的 {samples:,} 对数据上量过; 噪声按大小排序后的第 {rank:,} 个差定。",
    ),
    "means": (
        "What it promises: if the rows are like those drawn, then for a further such pair, except with probability "
        "{gamma} over sample and data together, no answer changes the odds of one row against another by more than a "
        "factor e^{epsilon}{delta}.",
        "承诺: 若数据与抽取的行同分布, 则对另一对这样的数据, 除去 (抽样与数据合计) {gamma} 的概率, 任何回答使某一行相"
        "对另一行的优势比变化不超过 e^{epsilon} 倍{delta}。",
    ),
    "delta": (", apart from a failure of mass {delta}", ", 另有质量 {delta} 的失效"),
    "not": (
        "What it does not: somebody whom {population} would not produce has no protection; an attacker who picks the "
        "data or the program is not covered; how many rows there are ({rows:,} were used) is not protected; nor is how "
        "long the program took. It cannot be converted to an epsilon of differential privacy.",
        "不承诺: “{population}” 不会产生的人不受保护; 不防范挑选数据或程序的攻击者; 行数 (用了 {rows:,} 行) 与程序耗时"
        "不受保护。它不能换算为差分隐私的 epsilon。",
    ),
    "otherwise": (
        "Had the program failed, given no number, or had there been fewer rows, this would be noise around "
        "{otherwise}, and nothing would say so: an error is an answer too, and would tell of the rows.",
        "若程序出错、给不出数或行数不足, 所示即为 {otherwise} 附近的噪声, 且不会注明: 报错也是一种回答, 会泄露数据。",
    ),
    "failed": (
        "On the public rows it gave no answer in {failures:,} of {runs:,} runs.",
        "在公开数据上 {runs:,} 次运行中有 {failures:,} 次没有给出结果。",
    ),
    "price": ("Charged: {price}, on the ledger of {notion}.", "已计费: {price}, 记在 “{notion}” 的账本上。"),
    "would_cost": ("It would cost {price}, on the ledger of {notion}.", "将计费: {price}, 记在 “{notion}” 的账本上。"),
}


def _paragraphs(answer: SampledAnswer, language: int) -> list[str]:
    facts, loss = answer.facts, answer.facts.loss
    spoken = ("en", "zh")[language]
    delta = _TEXTS["delta"][language].format(delta=decimal_text(loss.delta, 30)) if loss.delta else ""
    known: dict[str, Any] = {
        "name": facts.name,
        "rows": facts.rows,
        "table": facts.table,
        "unit": facts.unit,
        "samples": facts.samples,
        "rank": facts.rank,
        "population": in_language(loss.population, spoken),
        "gamma": decimal_text(loss.gamma, 9),
        "epsilon": decimal_text(loss.epsilon),
        "delta": delta,
        "otherwise": ", ".join(plain(value).value for value in facts.otherwise[:5]),
        "failures": facts.failures,
        "runs": 2 * facts.samples,
        "price": _price(loss),
        "notion": in_language(one_notion([loss]), spoken),
    }
    asked = answer.values is not None
    keys = ["asked" if asked else "would", "notion", "means", "not", "otherwise"]
    keys += ["failed"] if facts.failures else []
    keys.append("price" if asked else "would_cost")
    banner = [INVENTED_BANNER] if facts.invented else []
    return [*banner, *(_TEXTS[key][language].format(**known) for key in keys)]
