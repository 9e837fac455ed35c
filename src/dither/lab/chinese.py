"""The lab's lines in Chinese: engines, settings, measures, verdicts, notes, figures, sums of a run.

Flow: whatever shows a text that an attack wrote in English passes it through `said`. A text is looked up whole, then by
pattern: `{}` stands for any part, which is looked up in turn. A test runs every attack and finds what has no Chinese.
Verdicts keep their English word beside the Chinese one, so that both languages can be searched for it.
"""

from __future__ import annotations

import re
from functools import cache

__all__ = ["PATTERNS", "PHRASES", "said"]

PHRASES = {
    # verdicts
    "below bound": "低于界 (below bound)",
    "ABOVE BOUND": "超出界 (ABOVE BOUND)",
    "inconclusive": "未定 (inconclusive)",
    # engines
    "exact": "精确回答",
    "rounding to 5": "四舍五入到 5 的倍数",
    "overlap control": "重叠控制",
    "noise, no ledger": "加噪声, 无账本",
    "pseudonymised rows": "假名化的记录",
    "coarsened rows": "变粗的记录",
    "metric privacy": "度量隐私",
    "Dither, Gaussian": "Dither, 高斯噪声",
    "half the noise": "噪声减半",
    "wrong sensitivity": "敏感度算错",
    "ledger forgets": "账本失忆",
    "one noise for all": "所有回答共用噪声",
    "noise by text": "噪声由文字决定",
    "bare keys": "分组不设防",
    # settings
    "no prices": "不计价",
    "no ledger": "无账本",
    "antenna, hour": "基站, 小时",
    "antenna, half day": "基站, 半天",
    "8 x 8 squares, half day": "8 x 8 网格, 半天",
    "3 x 3 squares, half day": "3 x 3 网格, 半天",
    "3 x 3 squares, day": "3 x 3 网格, 一天",
    "RAND HIE, real": "RAND HIE, 真实数据",
    "date": "日期",
    "month": "月份",
    "year": "年份",
    "no dates": "不知日期",
    # measures
    "accuracy": "正确率",
    "area under curve": "曲线下面积",
    "alone with it": "独一无二的人",
    "errors, prices": "报错, 价格",
    "one person isolated": "挑出一人",
    "patients named": "认出的病人",
    "people, whole rows": "还原的人 (整行)",
    "race of a listed person": "名单上人的种族",
    "small counts exact": "准确得到的小计数",
    "time": "时间",
    "viewers found": "认出的观众",
    # notes
    "Q5 - Q4 is the secret itself": "Q5 - Q4 就是秘密本身",
    "rounded apart or together, by luck": "两个和舍入到一起还是分开, 全凭运气",
    "the second sum is refused": "第二个和被拒绝",
    "three pairs of rows, no two one row apart": "三对行, 任意两个问题都不只差一行",
    "windows of three rows, with row 2 known": "三行一窗, 已知第 2 行",
    "all rows each time, row 5 weighted: Newton's series at 0": "每次都问所有行, 给第 5 行加权: 牛顿级数在 0 处的值",
    "three pairs": "三对行",
    "the best attack there is: at the bound, so its interval holds it": "最好的攻击: 正好在界上, 所以区间包含界",
    "small tables, a fresh ledger each: the same law": "许多小表, 各用新账本: 规律相同",
    "bound by rho alone, for any noise of that price": "界只由 rho 算出, 对同价的任何噪声都成立",
    "one question: as promised": "只问一个问题: 符合承诺",
    "each below 10 and so withheld when asked for": "都小于 10, 直接问会被隐藏",
    "8 spellings, each on a new ledger": "8 种写法, 每次都是新账本",
    "8 spellings, one of them booked": "8 种写法, 只记了一次账",
    "twice the epsilon that is booked": "实际用的 epsilon 是记账的两倍",
    "a sum moves by 10, noise for 1": "和会变动 10, 噪声却按 1 来加",
    "both sums carry the same noise": "两个和带着同样的噪声",
    "the list of groups carries no noise": "分组列表没有噪声",
    "one budget for all 400 sums": "400 个和共用一份预算",
    "epsilon 1 for each of 400 sums, 50 to a question": "400 个和各用 epsilon 1, 每个问题问 50 个",
    "rounding moves a sum by 2 at most, and the program is told": "舍入最多让和变动 2, 并把这一点告诉求解程序",
    "averages of 1,000 features of about 100 people": "约 100 人的 1,000 个特征的均值",
    "people by antenna and half day, 18,000 counts": "按基站和半天计人数, 共 18,000 个计数",
    "exact counts": "精确计数",
    "found by 4 points": "凭 4 个点认出",
    "on average; the map is 1 wide": "平均值; 地图宽 1",
    "on average; everybody gets the nearest name of their ZIP and sex": "平均值; 每人得到同邮编同性别中最近的姓名",
    "success": "成功率",
    "alone with them": "独一无二",
    "alone among all, estimated": "全体中独一无二, 估计值",
    "Adult, a tenth": "Adult, 十分之一",
    "MovieLens rows": "MovieLens 记录",
    "a changed row": "改动的一行",
    "no clamp": "不截断数值",
    "a value of 100 where 10 is the bound": "上界是 10, 数值却是 100",
    "age, sex": "年龄, 性别",
    "age, sex, race, education": "年龄, 性别, 种族, 教育",
    "age, sex, race, education, marital-status, occupation, native-country":
        "年龄, 性别, 种族, 教育, 婚姻, 职业, 出生国",
    "Dither, all totals": "Dither, 全部前缀和",
    "a difference of two totals is a row": "两个前缀和之差就是一行",
    "one draw at the whole price: at the bound, so its interval holds it":
        "一次抽取用全价: 正好在界上, 所以区间包含界",
    "Q5 - Q4, five rows": "Q5 - Q4, 五行",
    "the price's bound": "价格给出的界",
    "the list is the answer": "列表本身就是答案",
    "noise on counts, the list is bare": "计数有噪声, 列表没有",
    "refused: no delta to choose groups with": "被拒绝: 没有 delta, 无法私密地选出分组",
    "rare groups stay below the threshold": "罕见分组达不到阈值",
    "measured on this machine: not repeatable from the seed": "在本机测得: 不能由种子重现",
    "MAX(income), then `income` within 100 of it; a row exchanged counts twice epsilon":
        "先问 MAX(income), 再取与它相差 100 以内的 `income`; 换一行算两倍 epsilon",
    "empty groups look like small ones": "空分组看起来与小分组一样",
    "half the budget for each table; one of four races, a row exchanged counts twice epsilon":
        "两张表各用一半预算; 四个种族选一, 换一行算两倍 epsilon",
    "a count by ZIP, birth date and sex": "按邮编, 生日, 性别计数",
    "a count of who rated a film that day": "数某天给某部电影评分的人",
    "a count by antenna and hour": "按基站和小时计数",
    "This asks for rows of people; Dither answers with aggregates.": "这是在要个人记录; Dither 只回答汇总.",
    "site, sex, age, family_size, income": "地点, 性别, 年龄, 家庭人数, 收入",
    "the first": "第一次",
    "ten": "十次",
    # figures
    "points known": "已知的点数",
    "spellings of one question": "同一问题的写法数",
    "Dither, budget 0.1": "Dither, 预算 0.1",
    "Q5 - Q4 on Dither": "对 Dither 的 Q5 - Q4",
    "bound for epsilon 0.1": "epsilon 0.1 的界",
    "exact averages": "精确均值",
    "one count on Dither": "对 Dither 的一次计数",
    "right guesses on Dither": "对 Dither 猜对的比例",
    "the ledger's bound": "账本给出的界",
    "The same difference comes out often whether the row says 1 or 0: the curve above says how often.":
        "无论这一行是 1 还是 0, 都常常得到同样的差: 上面的曲线说明有多常.",
    "Two sums one row apart, and their difference": "只差一行的两个和, 以及它们的差",
    # a class
    "student": "学生",
    "guess": "猜测",
    "right": "猜对",
    "spent": "花费",
    "bound": "界",
    "yes": "是",
    "no": "否",
    "none": "无",
    "more than the budget of the class": "超过全班的预算",
    "No guess yet: each student writes yes or no into guess.txt.": "还没有猜测: 每名学生在 guess.txt 里写 是 或 否.",
}  # fmt: skip
"""English text -> Chinese text."""

PATTERNS = (
    ("rows: Refused [{}]: {} Instead, the game of A2: {}", "要记录: 拒绝 [{}]: {} 改玩 A2 的游戏: {}"),
    ("found: {}", "找到: {}"),
    ("{}; each at the full price", "{}; 每个都出全价"),
    ("suppression, k = {}", "隐藏小计数, k = {}"),
    ("{} ratings, {} wrong, dates to {} days", "{} 个评分, {} 个错, 日期误差 {} 天"),
    ("{} ratings, {} wrong, no dates", "{} 个评分, {} 个错, 不知日期"),
    ("ZIP, birth {}, sex", "邮编, 出生{}, 性别"),
    ("joined by birth {}", "按出生{}链接"),
    ("alone with {} points", "{} 个点就独一无二"),
    ("liked or not, and the year: {}", "只留喜恶和年份: {}"),
    ("dates moved by {} days, stars by {}, or so: {}", "日期移动约 {} 天, 星级移动约 {}: {}"),
    ("birth dates moved by {} days", "生日移动 {} 天"),
    ("places moved by {}, half day", "地点移动 {}, 半天"),
    ("{} wrongly named, {} not named; {} score highest; {} viewers, {} films; GroupLens, for research: check its terms "
     "before passing it on",
     "认错 {} 人, 未认 {} 人; {} 人得分最高; 共 {} 名观众, {} 部电影; GroupLens 数据, 供研究使用: 转发之前请看其条款"),
    ("{} wrongly named, {} not named; {} score highest", "认错 {} 人, 未认 {} 人; {} 人得分最高"),
    ("Adult, real, {} columns", "Adult (真实数据), {} 列"),
    ("{} people; UCI, CC BY 4.0; by {}", "{} 人; UCI, CC BY 4.0; 按 {}"),
    ("mean of {} of {} samples, each off by {} or so; true {}; alone in the sample {}",
     "{1} 个样本中 {0} 个的均值, 单个样本约偏离 {2}; 真值 {3}; 样本内独一无二 {4}"),
    ("{} different transcripts in {} worlds", "{1} 个世界里有 {0} 种不同的应答记录"),
    ("one and the same transcript in {} worlds", "{} 个世界里应答记录完全相同"),
    ("{} names given, {} of them right; three in five people are on the list",
     "给出 {} 个姓名, 对了 {} 个; 五人中有三人在名单上"),
    ("{} people in year 1 by {}", "第 1 年 {} 人, 按 {}"),
    ("Chandler's own bound is {}: the sum over rows 1 to 4 does not hold him",
     "Chandler 自己的界是 {}: 前 4 行之和里没有他"),
    ("budget {}, {} tried: it pays for {}", "预算 {}, 试了 {} 次: 只够付{}"),
    ("by formula {}", "按公式 {}"),
    ("questions: {}; the true price is epsilon {}", "问题数: {}; 真实价格是 epsilon {}"),
    ("one solution in {} of {} blocks; at least {} in the middle block",
     "{1} 个街区中 {0} 个只有一个解; 居中的街区至少 {2} 个解"),
    ("one solution in {} of {} blocks; {} in the middle block",
     "{1} 个街区中 {0} 个只有一个解; 居中的街区有 {2} 个解"),
    ("Success over {}: {}", "成功率随 {} 变化: {}"),
    ("Without noise: Q5 - Q4 = {}. That is Chandler's row, exactly.",
     "没有噪声: Q5 - Q4 = {}. 这正是 Chandler 那一行."),
    ("By Dither, epsilon 1 for both: Q5 = {}, Q4 = {}, difference {}.",
     "由 Dither 回答, 两问共用 epsilon 1: Q5 = {}, Q4 = {}, 差 {}."),
    ("{} questions, {} refused; seed {}", "{} 个问题, {} 个被拒; 种子 {}"),
    ("Dither: {} below bound, {} inconclusive, {} ABOVE BOUND. Other engines ABOVE the bound they promise: {}.",
     "Dither: {} 行低于界 (below bound), {} 行未定 (inconclusive), {} 行超出界 (ABOVE BOUND). "
     "其他系统超出自己所承诺的界 (ABOVE): {} 行."),
    ("Worlds from seed {}; noise from the operating system: figures differ from run to run.",
     "世界由种子 {} 生成; 噪声取自操作系统: 每次运行的数字都不同."),
    ("Worlds and noise from seed {}: injected noise, for figures that can be checked. --real-noise draws anew.",
     "世界和噪声都由种子 {} 生成: 注入的噪声 (injected noise), 数字可以复核. 用 --real-noise 重新抽取."),
    (": left out. {}", ": 跳过. {}"),
    ("Install it with: {}", "安装方法: {}"),
    ("Wrote {}: {} students. Read {}; keep {}.", "已写入 {}: {} 名学生. 请阅读 {}; 请保管 {}."),
    ("Wrote {}.", "已写入 {}."),
    ("the ledger cannot be read: {}", "账本无法读取: {}"),
    ("by {}", "按 {}"),
    ("{} of {} right: {}, 95 % interval {}; bound of the whole budget {}, of what was spent {}: {}.",
     "{1} 人中 {0} 人猜对: {2}, 95 % 区间 {3}; 全部预算的界 {4}, 实际花费的界 {5}: {6}."),
)  # fmt: skip
"""(English pattern, Chinese pattern), the first that fits is used."""


def said(text: str, language: str) -> str:
    """The text in the language: Chinese for `zh` where there is one, else as it is."""
    if language != "zh":
        return text
    found = PHRASES.get(text)
    if found is not None:
        return found
    for pattern, chinese in _patterns():
        match = pattern.fullmatch(text)
        if match:
            return chinese.format(*(said(part, language) for part in match.groups()))
    return text


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile("(.+?)".join(re.escape(part) for part in english.split("{}")), re.DOTALL), chinese)
        for english, chinese in PATTERNS
    ]
