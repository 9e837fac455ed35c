"""What is said about each attack, in English and Chinese, for people who do not study privacy.

Flow: `report` and `page` show these beside the lines.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ABOUT", "COLUMNS", "Language", "READING", "TITLE", "About", "Words"]

Language = str
"""`en` or `zh`."""


@dataclass(frozen=True)
class Words:
    en: str
    zh: str

    def say(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en


@dataclass(frozen=True)
class About:
    name: Words
    story: Words


ABOUT = {
    "A1": About(
        Words("Differencing", "差分攻击"),
        Words(
            "Ask for a sum over rows 1 to 5 and one over rows 1 to 4: the difference is Chandler. Forbidding questions "
            "one row apart does not help: other differences lead to the same row.",
            "先问前 5 行之和, 再问前 4 行之和, 相减就是 Chandler 的病情. "
            "禁止两个问题只差一行也没用: 别的差分照样得到这一行.",
        ),
    ),
    "A2": About(
        Words("One well-aimed count", "一次精准计数"),
        Words(
            "The attacker knows everybody in a group but one, and spends the whole budget on one count. On a budget in "
            "epsilon no attack does better, so the success sits on the bound: less noise would show above it.",
            "攻击者知道组里除一人外的所有人, 把全部预算花在一次计数上. "
            "预算以 epsilon 计时, 没有更好的攻击, 所以成功率正好在界上: 噪声再小就会超出.",
        ),
    ),
    "A3": About(
        Words("Tracker", "追踪器攻击"),
        Words(
            "Small counts are withheld, so ask for large ones that contain the small one in different company, and "
            "subtract.",
            "小计数被隐藏, 就问几个包含它的大计数, 再相减.",
        ),
    ),
    "A4": About(
        Words("Averaging", "取平均攻击"),
        Words(
            "Ask the same thing in many spellings: fresh noise averages out, unless somebody adds up the price.",
            "同一个问题换很多种写法问: 每次新加的噪声会被平均掉, 除非有人累计价格.",
        ),
    ),
    "A5": About(
        Words("Reconstruction", "线性规划重构"),
        Words(
            "Ask for 400 sums over random parts of 100 patients, and solve for all of them at once.",
            "对 100 名病人的 400 个随机子集求和, 一次解出所有人的秘密.",
        ),
    ),
    "A6": About(
        Words("Census block", "人口普查街区重构"),
        Words(
            "Three small tables about the eight people of a block: a solver finds the people who fit them all, and a "
            "list of names with ages and sexes says who they are.",
            "一个街区住八个人, 公布三张小表. 求解器找出符合所有表的人, 再用一份带年龄和性别的姓名名单对上号.",
        ),
    ),
    "A7": About(
        Words("Membership in averages", "均值中的成员推断"),
        Words(
            "Averages of many features were published. Do they lean towards this person's own record?",
            "公布了许多特征的均值. 它们是否偏向某人的记录?",
        ),
    ),
    "A8": About(
        Words("Membership in movements", "移动数据中的成员推断"),
        Words(
            "Counts of phones by antenna and half day were published. Was this person's phone among them?",
            "公布了各基站每半天的手机数. 某人的手机在其中吗?",
        ),
    ),
    "A9": About(
        Words("Linkage", "链接攻击"),
        Words(
            "Names were removed from hospital records; ZIP, birth date and sex were not. A voter list has the names.",
            "病历去掉了姓名, 却留下邮编, 生日和性别. 选民名单上有姓名.",
        ),
    ),
    "A10": About(
        Words("Scoreboard", "评分匹配 (Netflix)"),
        Words(
            "Eight film ratings somebody let slip, two of them wrong, find that person's whole record among thousands.",
            "某人随口说出的八个电影评分, 哪怕错两个, 也能在几千人中找到其全部记录.",
        ),
    ),
    "A11": About(
        Words("Unicity", "轨迹唯一性"),
        Words(
            "A few places and times of a phone are enough to be alone with them. Coarser maps help less than hoped.",
            "几个地点加时间就足以唯一确定一部手机. 把地图变粗, 帮助有限.",
        ),
    ),
    "A12": About(
        Words("Singling out", "单挑攻击"),
        Words(
            "Make a condition out of an answer so narrow that exactly one person meets it, such as the largest income.",
            "由答案构造极窄的条件, 恰好只有一人满足, 例如最高收入.",
        ),
    ),
    "A13": About(
        Words("Search", "自动搜索"),
        Words(
            "A machine tries sets of questions on wards of its own, learns a rule from the answers, and plays the best "
            "set against wards it never saw. It also meets engines with a fault planted on purpose, and finds it.",
            "程序在自己造的病房上试各种问题组合, 从回答中学出规则, 再用最好的组合攻击没见过的病房. "
            "它还会遇到故意植入缺陷的系统, 并找出缺陷.",
        ),
    ),
    "A14": About(
        Words("Which groups exist", "分组是否存在"),
        Words(
            "A rare diagnosis in the list of groups tells that somebody has it, whatever its count says.",
            "罕见诊断出现在分组里, 就说明有人患病, 不管计数多少.",
        ),
    ),
    "A15": About(
        Words("Errors, prices, time", "错误, 价格, 时间"),
        Words(
            "What an engine says when it does not answer, and how long it takes, may depend on one row.",
            "系统拒答或报错时说了什么, 花了多久, 都可能取决于某一行.",
        ),
    ),
    "running": About(
        Words("All totals at once", "一次公布全部前缀和"),
        Words(
            "All sums over the first i rows are released together, with the noise placed between the rows and their "
            "totals. The attacker subtracts Q4 from Q5 as before.",
            "把所有前 i 行之和一次公布, 噪声加在行与总和之间. 攻击者照旧用 Q5 减 Q4.",
        ),
    ),
    "planted": About(
        Words("The lab's own test", "实验室自检"),
        Words(
            "Engines with a fault planted on purpose. Every line must read ABOVE BOUND.",
            "故意植入缺陷的系统. 每一行都必须显示: 超出界 (ABOVE BOUND).",
        ),
    ),
}

TITLE = Words("Dither's attack lab", "Dither 攻击实验室")

READING = Words(
    "Success is of a guesser who sees what an analyst sees, with a 95 % interval; guess is what asking nothing "
    "reaches; bound is the most that any attack can reach in the long run, by the spend in the engine's own ledger. "
    "Below the bound is not out of danger: at epsilon 10 the bound itself says next to nothing.",
    "成功率: 攻击者只看到分析者能看到的东西, 附 95 % 区间; "
    "盲猜: 什么都不问能达到的; 界: 按系统自己账本的花费, 任何攻击长期能达到的上限. "
    "低于界不等于没有危险: epsilon 为 10 时, 界本身几乎什么也没保证.",
)

COLUMNS = {
    "engine": Words("engine", "系统"),
    "setting": Words("setting", "条件"),
    "measure": Words("measure", "指标"),
    "success": Words("success", "成功率"),
    "interval": Words("95 % interval, trials", "95 % 区间, 次数"),
    "baseline": Words("guess", "盲猜"),
    "oracle": Words("no defence", "无防护"),
    "spent": Words("ledger says", "账本"),
    "bound": Words("bound", "界"),
    "verdict": Words("verdict", "结论"),
    "note": Words("note", "说明"),
}
