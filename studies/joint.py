"""How often the intervals of joint answers hold the truth, and how tests of independence behave.

Surveys are those of `coverage`, of two features; all surveys of a setting are asked at once, by the library's own
formulas and rule. The table in docs/explain/joint-results.md is printed by this script.
"""

import csv
import itertools
import sys
import zlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np

from studies.coverage import KINDS, SUBJECTS
from tests.support.joint_questions import Covered, measure, statistics
from tests.support.many_surveys import Setting, plan_for, respondents, shares_for

EPSILONS = (1.0, 2.0, 4.0)
SIZES = (1_000, 10_000, 100_000)
ANSWERS = ("loosely", "rare", "together")
SURVEYS = 8_000
AGAIN = 10  # times as many of a setting that is out of range, to tell chance from fact
TESTS = 40_000  # surveys in which independence is tested


def _one(setting: Setting) -> list[Covered]:
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    people = respondents(setting, 1, rng)
    found = measure(setting, SURVEYS, rng, people)
    if all(one.in_range for one in found if one.claimed >= 0.5):
        return found
    return measure(setting, AGAIN * SURVEYS, rng, people)  # all of them new


def settings() -> list[Setting]:
    return [
        Setting(kind, 2, epsilon, n, subject, answers)
        for kind, epsilon, n, subject, answers in itertools.product(KINDS, EPSILONS, SIZES, SUBJECTS, ANSWERS)
    ]


def tests() -> list[Setting]:
    """Twenty settings of independent answers."""
    return [
        Setting(kind, 2, epsilon, n, "population", "alone")
        for kind in KINDS
        for epsilon, n in ((1.0, 1_000), (2.0, 1_000), (4.0, 10_000), (1.0, 100_000))
    ]


def _alarms(setting: Setting) -> float:
    from scipy.special import chdtri

    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    shares = _independent_shares(setting)
    statistic, degrees, _ = statistics(setting, shares, TESTS, rng)
    return float(np.mean(statistic > chdtri(degrees, 0.05)))


def _independent_shares(setting: Setting) -> Any:
    plan = plan_for(setting.kind, 2, setting.epsilon)
    loose = shares_for([max(2, protocol.columns) for protocol in plan.protocols], "loosely")
    return np.multiply.outer(loose.sum(axis=1), loose.sum(axis=0))


def power() -> None:
    """How often a true association is found, against a test that sees the true answers; also as power.png."""
    import matplotlib as mpl
    from scipy.special import chdtri

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    print("\nPower of the test at 5 %: two flags with shares 0.3 and 0.4, N = 10,000; of 4,000 surveys each")
    correlations = (0.0, 0.01, 0.02, 0.04, 0.06, 0.1, 0.15, 0.2)
    print(f"  {'correlation':24}" + "".join(f"{phi:8.2f}" for phi in correlations))
    rows: dict[str, list[float]] = {"true answers": []}
    for epsilon in EPSILONS:
        rows[f"epsilon {epsilon:g} each"] = []
        for phi in correlations:
            rng = np.random.default_rng(1)
            both = 0.12 + phi * np.sqrt(0.3 * 0.7 * 0.4 * 0.6)
            shares = np.array([[1 - 0.7 + both, 0.4 - both], [0.3 - both, both]])
            setting = Setting("flags", 2, epsilon, 10_000, "population")
            ours, _, oracle = statistics(setting, shares, 4_000, rng)
            rows[f"epsilon {epsilon:g} each"].append(float(np.mean(ours > chdtri(1, 0.05))))
            if epsilon == EPSILONS[0]:
                rows["true answers"].append(float(np.mean(oracle > chdtri(1, 0.05))))
    figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, line), style in zip(rows.items(), ("k-", "k:", "k-.", "k--"), strict=True):
        print(f"  {name:24}" + "".join(f"{share:8.1%}" for share in line))
        axis.plot(correlations, line, style, marker="o", ms=3, label=name)
    axis.axhline(0.05, color="0.7", lw=0.8)
    axis.set(xlabel="correlation of two flags", ylabel="found at 5 %", ylim=(0, 1.02))
    axis.set_title("How often 10 000 respondents show that two flags are associated", fontsize=10)
    axis.legend(frameon=False)
    figure.savefig("power.png", dpi=100)
    plt.close(figure)


def run() -> None:
    """Print how often joint answers' intervals hold the truth, and how tests behave; write joint.csv."""
    found: list[Covered] = []
    with ProcessPoolExecutor() as pool:
        for done, results in enumerate(pool.map(_one, todo := settings()), start=1):
            found += results
            if sys.stderr.isatty():
                print(f"\r{done} of {len(todo)} settings", end="", file=sys.stderr)
        alarms = list(pool.map(_alarms, tests()))
    with Path("joint.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(f.name for f in fields(Setting)), "question", "claimed", "below", "above", "covered"])
        for one in found:
            writer.writerow([*astuple(one.setting), one.question, one.claimed, one.below, one.above, one.covered])
    print(f"\nCoverage of 95 % intervals of joint answers, {SURVEYS:,} surveys of each setting (all in joint.csv);")
    print(f"{AGAIN * SURVEYS:,} of those with one out of range, to tell chance from fact. In range: 94 to 96 %\n")
    print(f"  {'':30} {'asked':>6} {'answered':>9} {'in range':>9} {'least':>7} {'most':>7} {'seldom':>8} {'least':>7}")
    for name in dict.fromkeys(one.question for one in found):
        for answers in ANSWERS:
            _line(f"{name}{'' if answers == 'loosely' else f' ({answers})'}", [
                one for one in found if one.question == name and one.setting.answers == answers
            ])  # fmt: skip
    print(f"\nFalse alarms of the test of independence at 5 %, {TESTS:,} surveys each (wanted: 4.5 to 5.5 %)")
    for setting, alarm in zip(tests(), alarms, strict=True):
        print(f"  {setting.kind:16} epsilon {setting.epsilon:g} each, N = {setting.n:7,}: {alarm:6.2%}")
    power()


def _line(name: str, cells: Sequence[Covered]) -> None:
    answered = [one for one in cells if one.claimed >= 0.5]
    seldom = [one.covered for one in cells if 0.05 <= one.claimed < 0.5]
    ends = f"{'':>9} {'':>7} {'':>7}"
    if answered:
        shares = [one.covered for one in answered]
        ends = f"{np.mean([one.in_range for one in answered]):9.1%} {min(shares):7.1%} {max(shares):7.1%}"
    edge = f"{len(seldom):8} {min(seldom):7.1%}" if seldom else ""
    print(f"  {name:30} {len(cells):6} {len(answered) / len(cells):9.1%} {ends} {edge}".rstrip())
