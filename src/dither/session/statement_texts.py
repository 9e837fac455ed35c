"""The sentences of a privacy statement, in English and Chinese. Braces are filled in by `statement`.

Their order follows the parts of a guarantee in NIST SP 800-226 (2025): privacy parameters and unit; algorithms and
correctness, utility, bias; access control, trust model, side channels, data collection exposure.
"""

from __future__ import annotations

from dither.errors import InvalidParameter

__all__ = ["LANGUAGES", "TEXTS", "say"]

LANGUAGES = ("en", "zh")

TEXTS: dict[str, tuple[str, str]] = {
    "title": ("Privacy statement: {name}", "隐私声明: {name}"),
    "made": (
        "Made on {date} by Dither {version} from the catalog and the ledger of this data set. No record of "
        "any {unit} was read for it. The order follows NIST SP 800-226, Guidelines for Evaluating "
        "Differential Privacy Guarantees (2025).",
        "由 Dither {version} 于 {date} 根据本数据集的目录与账本生成, 未读取任何 {unit} 的记录。次序依照 NIST "
        "SP 800-226《差分隐私保证评估指南》(2025)。",
    ),
    "differs": (
        "The catalog promises something else than this ledger was made for: no question is answered until "
        "the owner undoes the change or adopts it (`dither budget adopt`). What follows describes the "
        "catalog.",
        "目录的承诺与账本建立时不同: 在所有者撤销改动或执行 `dither budget adopt` 之前, 不会回答任何提问。以"
        "下内容描述目录。",
    ),
    # 1
    "h_parameters": ("1. Privacy parameters", "1. 隐私参数"),
    "pure": (
        "All answers ever given from this data set, to everybody together, are epsilon-differentially "
        "private with epsilon {epsilon}.",
        "本数据集给出的全部回答合在一起, 对所有人, 满足 epsilon 差分隐私, epsilon = {epsilon}。",
    ),
    "approximate": (
        "All answers ever given from this data set, to everybody together, are (epsilon, "
        "delta)-differentially private with epsilon {epsilon} and delta {delta}.",
        "本数据集给出的全部回答合在一起, 对所有人, 满足 (epsilon, delta) 差分隐私, epsilon = {epsilon}, "
        "delta = {delta}。",
    ),
    "zcdp": (
        "All answers ever given from this data set, to everybody together, are rho-zero-concentrated "
        "differentially private with rho {rho}, outside a failure of probability at most {delta}. In other "
        "terms: epsilon {converted} at delta 1e-6 (plus that probability).",
        "本数据集给出的全部回答合在一起, 对所有人, 满足零集中差分隐私 (zCDP), rho = {rho}, 例外概率至多 "
        "{delta}。换算: delta 为 1e-6 (另加该概率) 时 epsilon = {converted}。",
    ),
    "odds_presence": (
        "In odds: whoever holds a guess of 1 % that one {unit} is in the data can hold it at {after} at most "
        "after all answers, whatever else they know.",
        "以把握言之: 若有人原以 1 % 的把握猜测某个 {unit} 在数据中, 看过全部回答后最多升到 {after}, 无论其还"
        "知道什么。",
    ),
    "odds_rows": (
        "Whoever holds a guess of 1 % about what one {unit}'s rows say can hold it at {after} at most after "
        "all answers, whatever else they know.",
        "若有人原以 1 % 的把握猜测某个 {unit} 的行内容, 看过全部回答后最多升到 {after}, 无论其还知道什么。",
    ),
    "delta_groups": ("delta, the part for groups", "delta 中用于分组的部分"),
    "rho_meter": ("rho, the other meter", "rho (另一计量)"),
    "two_meters": (
        "Every price is counted on both meters, epsilon and rho, and a question is admitted while one of the "
        "two stays within its limit; the promise above holds either way.",
        "每笔费用同时计入 epsilon 与 rho 两个计量; 只要其中之一未超上限, 提问即可受理; 上述承诺两种情形下都成"
        "立。",
    ),
    "odds_except": ("This may fail with a chance of at most {failure}.", "此说失效的概率至多 {failure}。"),
    "apart_note": (
        "Not counted among these answers: what was released under notions that are not differential privacy, on "
        "ledgers of their own ({count}, see 11). Neither the figures above nor the odds hold for those.",
        "以上回答不含按其他隐私概念 (非差分隐私) 另立账本的发布 ({count} 个账本, 见第 11 节); 上述数字与把握对其不成"
        "立。",
    ),
    "t_budget": ("meter|limit|charged so far", "计量|上限|已用"),
    "no_ledger": (
        "No question has been asked of the data yet. The ledger begins with the first one, and keeps this "
        "budget.",
        "尚未有任何提问。账本从第一次提问开始, 并以此预算为准。",
    ),
    "asked": (
        "Questions charged: {questions}. Stored answers passed on to a further analyst: {reuses}. A price is "
        "on record before data is read, and is not given back.",
        "已计费的提问: {questions} 次; 已存回答转给其他分析者: {reuses} 次。费用先入账后读数据, 不退还。",
    ),
    "granted": (
        "Number of times the budget was raised after it was first set: {count} (see 11). The figures "
        "promised hold for the whole life of the ledger: the largest epsilon, and the deltas of all levels "
        "added.",
        "预算设定后上调次数: {count} (见第 11 节)。所列承诺覆盖账本全程: 取最大的 epsilon, 各级 delta 相加。",
    ),
    # 2
    "h_unit": ("2. Unit of privacy", "2. 隐私单位"),
    "unit": (
        "Protected is each {unit}: all rows of one {unit} in all protected tables together.",
        "受保护的是每一个 {unit}: 一个 {unit} 在所有受保护表中的全部行。",
    ),
    "add_remove": (
        "Neighbours are two histories of the data that differ in one {unit} being there or not (unbounded "
        "differential privacy). How many there are is protected too.",
        "相邻: 两份数据历史只差某个 {unit} 的有或无 (无界差分隐私)。总人数同样受保护。",
    ),
    "replace": (
        "Neighbours are two histories of the data that differ in what one {unit}'s rows say (bounded "
        "differential privacy). Whether a {unit} is there at all is not what this protects.",
        "相邻: 两份数据历史只差某个 {unit} 的行内容 (有界差分隐私)。某个 {unit} 是否在数据中不在保护之列。",
    ),
    "t_unit": ("table|whose row it is|rows of one {unit} that count", "表|行属于谁|一个 {unit} 计入的行数"),
    "rule_row": ("each row is a unit of its own", "每一行自成一个单位"),
    "rule_column": ("the value of {column}", "{column} 的值"),
    "rule_reference": (
        "that of the row of {table} whose {target} equals {column}",
        "{table} 中 {target} 等于 {column} 的行的所属",
    ),
    "at_most": ("at most {tau}", "至多 {tau}"),
    "one_row": ("1, by definition", "1 (按定义)"),
    "chosen": ("a limit chosen privately for each question, paid from its price", "每次提问另行私密选定, 计入其费用"),
    # 3
    "h_holds": ("3. What holds always, and what rests on conditions", "3. 何者无条件成立, 何者有前提"),
    "always": ("Holds whatever is asked and whoever asks:", "无论谁问、问什么都成立:"),
    "always_adaptive": (
        "for questions each chosen after seeing all earlier answers, by several people acting together;",
        "对看过此前全部回答后再选定的提问, 也对合谋的多人;",
    ),
    "always_knowledge": (
        "against any other knowledge and any method, now or later;",
        "对抗任何背景知识与任何方法, 无论现在或将来;",
    ),
    "always_outputs": (
        "for values, for which groups appear, for refusals, prices and explanations; the latter three do not "
        "read protected rows at all.",
        "对数值、出现哪些分组、拒绝、价格与说明均成立; 后三者完全不读受保护的行。",
    ),
    "conditions": ("Rests on these conditions, which Dither cannot check:", "以下前提由所有者保证, Dither 无法检验:"),
    "if_unit": (
        "one {unit} has one identifier; somebody with two is protected as two, which is weaker;",
        "一个 {unit} 只有一个标识; 有两个标识者按两个单位保护, 较弱;",
    ),
    "if_history": (
        "when and how other rows change does not depend on the one {unit};",
        "其他行何时、如何变化不取决于这一个 {unit};",
    ),
    "if_series": (
        "rows of a table that a series counts day by day are only ever added: one that is deleted, or moved to "
        "another day, makes room for a further one of its {unit}, which no price covers;",
        "被序列逐日统计的表只增不改: 删除一行或把它移到另一天, 会使同一 {unit} 的另一行得以计入, 而费用并未涵盖;",
    ),
    "if_asserted": (
        "{target} of {table} is unique, as the owner asserts: the database does not enforce it;",
        "{table} 的 {target} 唯一, 由所有者声明, 数据库未强制;",
    ),
    "if_public": (
        "the catalog's bounds, lists of values and public tables were written down without looking at "
        "protected rows;",
        "目录中的上下界、取值列表与公开表均未查看受保护的行而定;",
    ),
    "if_release": (
        "releases are opened on a schedule, not because the data was seen to change;",
        "发布期按计划开启, 而非因看到数据变化;",
    ),
    "if_grant": (
        "the amounts of the grants made so far were fixed in advance. Whether and when a grant was made may "
        "have depended on answers; had its amount been chosen by looking at answers among n amounts, the "
        "deltas of all n would have to be added;",
        "已作上调的数额事先定好。是否及何时上调可取决于回答; 若数额是看过回答后从 n 个中选出, 则须把 n 个 "
        "delta 全部相加;",
    ),
    "if_grant_future": (
        "should the budget be raised later, its amounts are fixed in advance; what is promised here then "
        "rises as listed;",
        "若日后上调预算, 数额须事先定好; 此处承诺随之按所列提高;",
    ),
    "if_ledger": (
        "there is one ledger for this source, and a restored backup is first charged the worst case;",
        "一个数据源只有一个账本; 恢复备份时先按最坏情形入账;",
    ),
    "if_random": (
        "the operating system's random bytes cannot be told from random ones (a computational assumption).",
        "操作系统的随机字节与真随机不可区分 (计算性假设)。",
    ),
    # 4
    "h_public": ("4. What is public", "4. 何者公开"),
    "public": (
        "Not protected by this: the catalog itself (names, types, bounds, listed values), the budget's "
        "terms, public tables, and conclusions that hold of people in general.",
        "不在保护之列: 目录本身 (名称、类型、上下界、所列取值)、预算条款、公开表, 以及对人群普遍成立的结论。",
    ),
    "public_tables": ("Tables declared to be about nobody: {tables}.", "声明为不涉及任何人的表: {tables}。"),
    "no_public_tables": ("No table is declared public.", "没有表被声明为公开。"),
    "row_counts": (
        "Row counts the owner declares as public: {rows}. Dither never compares them with the data; they serve to "
        "foresee how accurate a mean will be, and are in no answer. If they were counted in the protected rows, they "
        "reveal what any published count does.",
        "所有者声明为公开的行数: {rows}。Dither 从不与数据核对; 仅用于事先估计均值的精度, 不进入任何回答。若数自受保护"
        "的行, 其泄露与任何公布的计数相同。",
    ),
    "invisible": (
        "Columns and tables that the catalog does not name cannot be asked about.",
        "目录未列出的列与表不能被提问。",
    ),
    # 5
    "h_algorithms": ("5. Algorithms and correctness", "5. 算法与正确性"),
    "central": (
        "Each {unit}'s contribution to a count or sum is bounded first: at most the rows listed in 2 count, "
        "and values are moved into the bounds below. To each integer so measured a random integer is added "
        "whose law is known exactly.",
        "先限定每个 {unit} 对计数或求和的影响: 至多计入第 2 节所列的行数, 数值收进下列上下界。再对所得整数加"
        "入分布精确已知的随机整数。",
    ),
    "t_columns": ("table|column|type|enforced on reading", "表|列|类型|读取时强制"),
    "clamped": ("moved into {low} to {high}", "收进 {low} 至 {high}"),
    "listed": ("one of {count} listed values, else NULL", "所列 {count} 个取值之一, 否则为 NULL"),
    "unlisted": ("nothing; as a group it appears only by noisy selection", "无; 作为分组只经带噪选择出现"),
    "never": ("nothing; it cannot be a group, as the budget has no delta", "无; 预算没有 delta, 不能作为分组"),
    "unbounded": (
        "nothing; sums of it are refused unless the question bounds it",
        "无; 除非提问自行限定, 否则拒绝求和",
    ),
    "boolean": ("true, false or NULL", "真、假或 NULL"),
    "mechanisms": ("Mechanisms charged so far, and how often:", "迄今计费的机制与次数:"),
    "may_use": ("Mechanisms that may be used:", "可能使用的机制:"),
    "m_LaplaceEvent": (
        "discrete Laplace noise on counts and sums (pure epsilon)",
        "计数与求和的离散拉普拉斯噪声 (纯 epsilon)",
    ),
    "m_GaussianEvent": ("discrete Gaussian noise on counts and sums (zCDP)", "计数与求和的离散高斯噪声 (zCDP)"),
    "m_ExponentialEvent": ("exponential mechanism, for quantiles", "指数机制, 用于分位数"),
    "m_SelectionEvent": (
        "selection of groups by a noisy count and a threshold (uses delta)",
        "以带噪计数与阈值选择分组 (使用 delta)",
    ),
    "m_PureEvent": (
        "other pure mechanisms, such as the choice of rows per unit",
        "其他纯 epsilon 机制, 如每单位行数的选定",
    ),
    "times": ("{what}: {count}", "{what}: {count} 次"),
    "no_groups": (
        "The budget has no delta, so groups that the catalog does not list never appear.",
        "预算没有 delta, 目录未列出的分组不会出现。",
    ),
    "exact": (
        "Noise is drawn in integers from exact laws; prices, limits and what is spent are exact fractions, "
        "costs rounded up. Each rule has a proof note and tests in the software's repository; the owner can "
        "put the mechanisms to the test with `dither audit`, and the ledger with `dither budget verify`. "
        "Tests can refute a claim, not prove one.",
        "噪声按精确分布以整数抽取; 价格、上限与已用均为精确分数, 费用向上取整。每条规则在软件仓库中附有证明与"
        "测试; 所有者可用 `dither audit` 检验机制, 用 `dither budget verify` 检验账本。测试可以证伪, 不能证明"
        "。",
    ),
    # 6
    "h_utility": ("6. Utility", "6. 效用"),
    "utility": (
        "Every noisy number comes with a 95 % interval: of the value over the rows kept, with values in "
        "their bounds. The size of the noise follows from the question's price and is said before asking "
        "(`dither explain`, `dither budget plan`).",
        "每个带噪数都附 95 % 区间, 针对保留的行、收进上下界后的值。噪声大小由提问的价格决定, 提问前即可得知 "
        "(`dither explain`, `dither budget plan`)。",
    ),
    # 7
    "h_bias": ("7. Bias", "7. 偏差"),
    "bias_small": (
        "Noise is as large for a small group as for a large one, so small groups are known less well in "
        "proportion, and may be missing where groups are selected.",
        "小分组与大分组的噪声同样大, 因此小分组相对更不准; 经选择出现的分组中小分组可能缺失。",
    ),
    "bias_clamp": (
        "Leaving rows out and moving values into bounds shifts sums and means in a known direction; noise on "
        "counts and sums is right on average. Negative counts are shown as they are; rounding them up would "
        "add bias.",
        "截断行数与收进上下界使总和与均值朝已知方向偏移; 计数与求和的噪声平均为零。负计数原样显示, 强行归零会"
        "引入偏差。",
    ),
    "bias_picks": (
        "Sorting, filtering or taking the top by noisy numbers picks too-extreme rows; answers that do it "
        "say so.",
        "按带噪数排序、筛选或取前几名会选中过于极端的行; 这样的回答会注明。",
    ),
    # 8
    "h_access": ("8. Security and access control", "8. 安全与访问控制"),
    "nobody": (
        "No analysts are declared: whoever can run Dither with this catalog may ask, up to the whole budget.",
        "未声明分析者: 凡能以此目录运行 Dither 者均可提问, 直至用完预算。",
    ),
    "t_askers": ("analyst|allowance ({meter})|a day|charged so far", "分析者|额度 ({meter})|每日|已用"),
    "allowances": (
        "An allowance rations one analyst and promises nothing more: the promise is the data set's, to all "
        "of them together.",
        "额度只是对某一分析者的配给; 承诺属于整个数据集, 针对所有人合在一起。",
    ),
    "access": (
        "Analysts should reach the data through Dither alone. Whoever can read the database, the ledger or "
        "files beside it sees more than this promises; Dither creates its own files readable by their owner "
        "only. Permissions on the database, backups, and encryption are the organisation's to state.",
        "分析者应只经由 Dither 接触数据。凡能直接读取数据库、账本或其旁文件者, 所见超出此处承诺; Dither 自建"
        "的文件仅所有者可读。数据库权限、备份与加密由所在机构另行说明。",
    ),
    # 9
    "h_trust": ("9. Trust model", "9. 信任模型"),
    "trust": (
        "Central model: the owner holds the data in the clear and is trusted, as are the machine, the "
        "database and this software. Analysts, and whoever reads their answers, are not trusted.",
        "中心模型: 所有者持有明文数据并受信任, 机器、数据库与本软件亦然。分析者及其回答的读者不受信任。",
    ),
    # 10
    "h_side": ("10. Side channels", "10. 侧信道"),
    "side_time": (
        "Time: how long a question takes can depend on the rows. Work on private values avoids operations "
        "that are much slower on odd ones, but timing is not part of the promise.",
        "时间: 提问耗时可能取决于数据。对私密值的运算避开在异常值上明显更慢的操作, 但耗时不在承诺之内。",
    ),
    "side_failure": (
        "Failures: that the database failed on a charged question can depend on the rows. Such failures are "
        "rationed: asking pauses after 3 by an analyst or 10 in all, until the owner has looked.",
        "故障: 已计费的提问在数据库上失败可能取决于数据。此类故障受限: 某分析者 3 次或总计 10 次后暂停提问, "
        "待所有者查看。",
    ),
    "side_float": (
        "Arithmetic: no floating-point number crosses from private rows to an answer, which closes the known "
        "attacks on their low bits.",
        "运算: 从私密行到回答之间不经过浮点数, 已知的低位攻击因此无从下手。",
    ),
    # 11
    "h_exposure": ("11. Data collection exposure and other releases", "11. 数据采集暴露与其他发布"),
    "exposure": (
        "Differential privacy limits what answers tell. It does not protect the data where it is collected, "
        "moved, stored or deleted, nor does it repair a collection without a legal basis. These the "
        "organisation states: purpose and basis of the collection, retention, who else holds the data.",
        "差分隐私限制的是回答透露多少, 不保护数据在采集、传输、存储与删除中的安全, 也不能补救无合法依据的采集"
        "。以下由所在机构说明: 采集目的与依据、保存期限、还有谁持有数据。",
    ),
    "others": (
        "Other releases about the same people (another data set with its own ledger, tables published "
        "without Dither) have losses of their own, which add to these.",
        "关于同一批人的其他发布 (另有账本的数据集、未经 Dither 发布的表) 各有损失, 与此相加。",
    ),
    "apart": (
        "A ledger of another notion stands beside this one: {notion}. This is not differential privacy. Its charges "
        "are not part of any epsilon above, and nothing above limits them; what is promised above is not promised of "
        "these releases. Releases on it: {count}; charged in all: {total}.",
        "旁边另有一个其他隐私概念的账本: {notion}。它不是差分隐私。其费用不计入上文的任何 epsilon, 上文也不限制它; 上"
        "文的承诺不适用于这些发布。其中的发布: {count} 次; 合计费用: {total}。",
    ),
    "apart_random": (
        "Random DP protects a {unit} whose rows are like those of the stated population, except with probability "
        "gamma; a {unit} whom that population would not produce is not protected by it at all, and how many rows "
        "there are is not either. What is released is the answer of a program of the owner's, rounded to integers "
        "before noise is added; how long it ran is not protected.",
        "随机差分隐私 (random DP) 只保护与所述总体同分布的 {unit}, 且有 gamma 的例外概率; 该总体不会产生的 {unit} 完全"
        "不受保护, 行数也不受保护。发布的是所有者程序的结果, 先取整再加噪声; 程序耗时不受保护。",
    ),
    "apart_metric": (
        "Metric privacy hides where a value lies within a neighbourhood, by epsilon per unit of distance; it does not "
        "hide that a {unit} is in the data, nor values that are far apart.",
        "度量隐私按每单位距离的 epsilon 掩盖一个值在邻域内的位置; 它不掩盖某个 {unit} 在数据中, 也不掩盖相距很远的值。",
    ),
    "t_apart": ("day (UTC)|released|charged", "日期 (UTC)|发布内容|费用"),
    "t_commands": ("day (UTC)|what the owner did|detail|reason", "日期 (UTC)|所有者的操作|内容|理由"),
    "releases": (
        "Current release: {release}, of {count} so far. Within a release an answer is reused rather than "
        "measured again.",
        "当前发布期: {release}, 迄今共 {count} 期。同一发布期内重复使用已有回答, 不再测量。",
    ),
    "k_created": ("ledger began", "账本建立"),
    "k_granted": ("budget or allowance raised", "上调预算或额度"),
    "k_release": ("release opened", "开启发布期"),
    "k_promise": ("another promise adopted", "采纳另一承诺"),
    "k_unfrozen": ("pause lifted", "解除暂停"),
    "k_restored": ("worst case charged after a restore", "恢复备份后按最坏情形入账"),
    "k_imported": ("charges of another ledger taken over", "并入另一账本的费用"),
    "h_check": ("12. How to check this statement", "12. 如何核对本声明"),
    "check": (
        "`dither budget verify` recomputes every total from the ledger's chain; its head when this was made: "
        "{head}. `dither check` compares the catalog with the database. Catalog's promise: {digest}.",
        "`dither budget verify` 由账本链重算全部合计; 本声明生成时链首为 {head}。`dither check` 将目录与数据"
        "库比对。目录承诺摘要: {digest}。",
    ),
}  # fmt: skip


def say(key: str, language: str, **facts: object) -> str:
    if language not in LANGUAGES:
        raise InvalidParameter("language", expected="en or zh", found=language)
    return TEXTS[key][LANGUAGES.index(language)].format(**facts)
