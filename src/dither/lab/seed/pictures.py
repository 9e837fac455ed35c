"""Frames, sliders and words of the pictures; `pictures.js` fills them by the same names.

Flow: `seed_page` puts each after its section.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from dither.lab.texts import Language, Words

__all__ = ["WORDS", "frames"]


@dataclass(frozen=True)
class Slider:
    name: str
    label: Words
    least: float
    most: float
    step: float
    value: float


@dataclass(frozen=True)
class Picture:
    name: str
    section: str
    caption: Words
    sliders: tuple[Slider, ...] = ()
    buttons: tuple[tuple[str, Words], ...] = ()


_PLAY = ("play", Words("Play", "播放"))

_PICTURES = (
    Picture(
        "quotient",
        "s1",
        Words(
            "Three difference quotients of f(x) = x³ at x = 1. As h goes to 0 all become the tangent, the central one "
            "first.",
            "f(x) = x³ 在 x = 1 处的三种差商。h 趋于 0 时都变成切线，中心差商最快。",
        ),
        (Slider("h", Words("step h", "步长 h"), 0.01, 1, 0.01, 1),),
        (_PLAY,),
    ),
    Picture(
        "patients",
        "s7",
        Words(
            "Q5 - Q4 step by step, and then with noise: two sums at half of ε each.",
            "一步一步看 Q5 - Q4，最后加上噪声：两个和各用 ε 的一半。",
        ),
        (Slider("epsilon", Words("ε in all", "总共的 ε"), 0.1, 6, 0.1, 1),),
        (
            _PLAY,
            ("next", Words("Next step", "下一步")),
            ("swap", Words("Change Chandler's row", "改 Chandler 的一行")),
            ("many", Words("Ask 1,000 times", "问一千次")),
        ),
    ),
    Picture(
        "discrete",
        "s11",
        Words(
            "The continuous law (curve) and Dither's discrete law (stems), at one scale λ.",
            "同一尺度 λ 下的连续分布（曲线）与 Dither 的离散分布（竖线）。",
        ),
        (Slider("lambda", Words("scale λ", "尺度 λ"), 0.3, 6, 0.1, 2),),
        (_PLAY,),
    ),
    Picture(
        "laws",
        "s12",
        Words(
            "Two noise laws, around f(D₁) and f(D₂), slide over each other. Below: the logarithm of their ratio at "
            "every answer z. It never leaves the band of ± distance / λ.",
            "以 f(D₁) 和 f(D₂) 为中心的两个噪声分布滑过彼此。"
            "下面是每个答案 z 处密度比的对数，它从不超出 ± 距离 / λ 的带子。",
        ),
        (
            Slider("z", Words("answer z", "答案 z"), 42, 58, 0.1, 51),
            Slider("distance", Words("distance f(D₁) - f(D₂)", "距离 f(D₁) - f(D₂)"), -4, 4, 0.1, 1),
            Slider("scale", Words("scale λ", "尺度 λ"), 0.5, 6, 0.1, 2),
        ),
        (_PLAY,),
    ),
    Picture(
        "totals",
        "s13",
        Words(
            "Errors of 256 running totals at ρ = ½, by where the noise is put: on each total, on each step, or "
            "half-way.",
            "ρ = ½ 时 256 个前缀和的误差，取决于噪声加在哪里：每个总和上，每一步上，或正中间。",
        ),
        (),
        (("again", Words("Draw again", "再抽一次")),),
    ),
)

WORDS = {
    "forward": Words("forward", "前向"),
    "backward": Words("backward", "后向"),
    "central": Words("central", "中心"),
    "tangent": Words("tangent, slope 3", "切线，斜率 3"),
    "play": Words("Play", "播放"),
    "stop": Words("Stop", "停止"),
    "rows": Words("Five rows. Nobody may look at one.", "五行。谁也不许看单独一行。"),
    "first": Words("Ask for the first five rows: Q5 = {0}.", "问前五行：Q5 = {0}。"),
    "second": Words("Ask for the first four: Q4 = {0}.", "问前四行：Q4 = {0}。"),
    "subtract": Words(
        "Subtract: Q5 - Q4 = {0}. That is Chandler's row.", "相减：Q5 - Q4 = {0}。这就是 Chandler 的一行。"
    ),
    "noisy": Words(
        "With noise: Q5 = {0}, Q4 = {1}, so the attacker reckons {2} and says “{3}”.",
        "加噪声：Q5 = {0}，Q4 = {1}，攻击者算出 {2}，于是说“{3}”。",
    ),
    "ill": Words("diabetes", "有糖尿病"),
    "well": Words("no diabetes", "没有糖尿病"),
    "tally": Words(
        "Asked {0} times of a fair coin: right in {1} %. Without asking 50 %, at most {2} % at this ε.",
        "对公平硬币问了 {0} 次：猜对 {1} %。不问是 50 %，这个 ε 下至多 {2} %。",
    ),
    "density": Words("continuous: density at 0 is {0}, variance {1}", "连续：0 处密度 {0}，方差 {1}"),
    "mass": Words("discrete: P(0) = {0}, variance {1}", "离散：P(0) = {0}，方差 {1}"),
    "ratio": Words(
        "z = {0}: density {1} from D₁, {2} from D₂. Ratio {3}, within e^±{4} = {5} to {6}.",
        "z = {0}：来自 D₁ 的密度 {1}，来自 D₂ 的密度 {2}。比值 {3}，在 e^±{4} 即 {5} 与 {6} 之间。",
    ),
    "log": Words("ln ratio", "比值的对数"),
    "each": Words("on each total", "加在每个总和上"),
    "step": Words("on each step", "加在每一步上"),
    "half": Words("half-way (square root)", "正中间（平方根）"),
    "largest": Words("Largest error here: {0}, {1}, {2}.", "这次最大的误差：{0}，{1}，{2}。"),
}


def frames(language: Language) -> dict[str, str]:
    """The HTML of each picture by the section it follows."""
    return {picture.section: _frame(picture, language) for picture in _PICTURES}


def _frame(picture: Picture, language: Language) -> str:
    caption = escape(picture.caption.say(language))
    buttons = "".join(
        f'<button type="button" data-do="{name}">{escape(words.say(language))}</button>'
        for name, words in picture.buttons
    )
    sliders = "".join(
        f"<label><span>{escape(s.label.say(language))}</span>"
        f'<input type="range" name="{s.name}" min="{s.least:g}" max="{s.most:g}" step="{s.step:g}" value="{s.value:g}">'
        f"<output>{s.value:g}</output></label>"
        for s in picture.sliders
    )
    return (
        f'<figure class="picture" id="{picture.name}"><svg role="img" aria-label="{caption}"></svg>'
        f'<p class="reading" aria-live="polite"></p><div class="controls">{sliders}<div class="buttons">{buttons}</div>'
        f"</div><figcaption>{caption}</figcaption></figure>"
    )
