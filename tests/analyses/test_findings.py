"""The findings of a survey: what is decided, by which rule, and that the page decides nothing itself."""

import ast
from dataclasses import FrozenInstanceError, replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.analyses import pair_findings, share_findings
from deniable.analyses.findings import Findings, survey_findings
from deniable.analyses.not_enough_reports import Kind
from deniable.analyses.pair_findings import RankedPair, direction, surest_features
from deniable.analyses.share_findings import Share, group_shares, groups, highest_and_lowest
from deniable.simulate import counts as simulated
from deniable.simulate import truth

SCHEMA = dn.Schema(
    [dn.Flag("rare"), dn.Choice("town", ["x", "y", "z"]), dn.Flags("sports", ["chess", "judo"]), dn.Flag("common")]
)
PLAN = dn.Plan(SCHEMA, {"rare": dn.RandomizedResponse(epsilon=0.5)}, epsilon=12.0)
TRUTH = truth(
    SCHEMA,
    [
        (0.5, {"rare": 0.001, "town": [0.1, 0.7, 0.2], "sports: chess": 0.3, "sports: judo": 0.7, "common": 0.9}),
        (0.5, {"rare": 0.002, "town": [0.1, 0.2, 0.7], "sports: chess": 0.3, "sports: judo": 0.2, "common": 0.4}),
    ],
)


@pytest.fixture(scope="module")
def counts() -> dn.Counts:
    return simulated(TRUTH, PLAN, np.random.default_rng(1), n=20_000)


@pytest.fixture(scope="module")
def found(counts: dn.Counts) -> Findings:
    return survey_findings(counts)


def test_every_share_is_that_of_the_estimate(found: Findings, counts: dn.Counts) -> None:
    assert [[feature.name for feature in one.group.features] for one in found.shares] == [
        ["rare", "common"],
        ["town"],
        ["sports: chess", "sports: judo"],
    ]
    cells = {"common": {"common": True}, "judo": {"sports: judo": True}, "x": {"town": "x"}}
    shares = {share.label: share for one in found.shares for share in one.shares}
    for label, cell in cells.items():
        answer = dn.estimate(counts, list(cell)).about("population").cell(cell)
        assert (shares[label].value, shares[label].low, shares[label].high) == (
            answer.value,
            *answer.confidence_interval(0.95),
        )


@pytest.fixture(scope="module")
def few() -> Findings:
    return survey_findings(simulated(TRUTH, PLAN, np.random.default_rng(1), n=100))


def test_shares_of_flags_fall_and_those_of_a_choice_keep_their_order(found: Findings) -> None:
    for one in (found.shares[0], found.shares[2]):
        values = [share.value for share in one.shares]
        assert values == sorted(values, reverse=True)
    assert [share.label for share in found.shares[2].shares] == ["judo", "chess"]
    assert [share.label for share in found.shares[1].shares] == ["x", "y", "z"]


def test_flags_without_enough_reports_stand_last(monkeypatch: pytest.MonkeyPatch, counts: dn.Counts) -> None:
    right = share_findings._share

    def without_common(label: str, *of: Any) -> Share:
        return replace(right(label, *of), low=nan, high=nan) if label == "common" else right(label, *of)

    monkeypatch.setattr(share_findings, "_share", without_common)
    one = share_findings.group_shares(counts, next(groups(PLAN)), 0.95)
    assert [share.label for share in one.shares] == ["rare", "common"]
    assert [(missing.kind, missing.names) for missing in one.unanswered] == [(Kind.YES, ("common",))]


def test_what_lacks_reports_is_told_with_how_many_it_would_take(few: Findings) -> None:
    lacking = sum(not share.enough for share in few.shares[1].shares)
    towns = [(town.kind, town.names, town.missing, town.asked) for town in few.shares[1].unanswered]
    assert towns == ([(Kind.ANSWERS, ("town",), lacking, 3)] if lacking else [])
    without = {pair.names for pair in few.pairs.tested if not pair.enough}
    assert without
    assert {one.names for one in few.unanswered if one.kind is Kind.PAIR} == without
    assert [one.needed for one in few.unanswered] == sorted(one.needed for one in few.unanswered)
    assert all(one.needed.reports > 100 for one in few.unanswered)


def test_a_pair_is_sure_by_the_rate_of_false_discoveries_alone(found: Findings, counts: dn.Counts) -> None:
    rows = dn.associations(counts).to_pylist()
    assert [pair.names for pair in found.pairs.tested] == [(row["first"], row["second"]) for row in rows]
    expected = [(row["first"], row["second"]) for row in rows if row["fdr"] <= 0.05 and row["low"] == row["low"]]
    assert [pair.names for pair in found.pairs.sure] == expected
    assert {("town", "common"), ("sports: judo", "common")} <= set(expected)


def test_the_surest_pairs_get_their_conditional_shares(
    counts: dn.Counts, found: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [direction(PLAN, pair) for pair in found.pairs.sure][: pair_findings.CONDITIONALS]
    assert [(one.given, one.what) for one in found.conditionals] == names
    monkeypatch.setattr(pair_findings, "CONDITIONALS", 1)
    (one,) = pair_findings.conditionals(counts, found.pairs.tested, 0.95)
    assert (one.given, one.what) == names[0]
    monkeypatch.setattr(pair_findings, "CONDITIONAL_ROWS", 2)  # town has three answers
    (one,) = pair_findings.conditionals(counts, found.pairs.tested, 0.95)
    assert "town" not in (one.given.name, one.what.name)


def test_very_many_flags_and_groups_are_split_and_left_out(counts: dn.Counts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_findings, "FLAGS", 1)
    assert [(group.part, group.parts) for group in groups(PLAN)] == [(1, 2), (2, 2), (1, 1), (1, 2), (2, 2)]
    monkeypatch.undo()
    monkeypatch.setattr("deniable.analyses.findings.GROUPS", 1)
    assert survey_findings(counts).left_out == ("town", "sports: chess", "sports: judo")


def test_the_most_common_answer_needs_all_intervals() -> None:
    schema = dn.Schema([dn.Choice("letter", ["a", "b", "c"]), dn.Flag("x")])
    plan = dn.Plan(schema, epsilon=4.0, together=[["letter", "x"]])
    group, _ = groups(plan)
    told = dn.simulate.truth(schema, {"letter": [0.2, 0.5, 0.3], "x": 0.5})
    found = group_shares(dn.simulate.counts(told, plan, 1, n=5_000), group, 0.95)
    assert found.most_common is not None
    assert (found.most_common.first, found.most_common.alike) == (found.shares[1], 0)
    few = group_shares(dn.simulate.counts(told, plan, 1, n=10), group, 0.95)
    assert not all(share.enough for share in few.shares)
    assert few.most_common is None


def test_the_highest_and_the_lowest_share_are_of_those_with_enough_reports() -> None:
    first, second, third = Share("a", 0.5, 0.45, 0.55), Share("b", 0.3, 0.25, 0.35), Share("c", 0.2, 0.15, 0.25)
    unknown = Share("d", 0.9, nan, nan)
    assert highest_and_lowest([unknown, third, first, second]) == (first, third)
    assert highest_and_lowest([unknown]) is None


def test_the_surest_features_come_in_the_order_of_their_pairs() -> None:
    numbers = (0.5, 0.4, 0.6, 0.0, 0.0, 0.5, 0.4, 0.6)
    pairs = [RankedPair(*names, "any", *numbers) for names in (("a", "b"), ("c", "a"), ("d", "e"))]
    assert surest_features(pairs, 9) == ("a", "b", "c", "d", "e")
    assert surest_features(pairs, 3) == ("a", "b", "c")


def test_findings_are_frozen(found: Findings) -> None:
    for thing, name in ((found, "level"), (found.shares[0], "shares"), (found.pairs.tested[0], "fdr")):
        with pytest.raises(FrozenInstanceError):
            setattr(thing, name, None)


def test_a_level_that_is_none_is_refused(counts: dn.Counts) -> None:
    with pytest.raises(dn.EstimateError, match="between 0 and 1"):
        survey_findings(counts, level=95)


def test_the_page_imports_no_statistics() -> None:
    """It sets what the analyses found, and reads plans; estimates and inference are not its business."""
    import deniable.page

    assert deniable.page.__file__
    for file in Path(deniable.page.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                assert not module.startswith(("deniable.estimates", "deniable.inference", "numpy", "scipy")), file


# -- arms --------------------------------------------------------------------------------------------------------------

ARMS = dn.Plan(SCHEMA, epsilon=4.0, arms={("rare", "town"): 3, ("town", "common"): 2, ("sports", "common"): 1})


def test_findings_say_who_was_asked() -> None:
    counts = simulated(TRUTH, ARMS, np.random.default_rng(1), n=6_000)
    found = survey_findings(counts)
    assert found.arms is not None
    assert [arm.expected for arm in found.arms.each] == pytest.approx([3_000, 2_000, 1_000], abs=0.1)
    assert [arm.n for arm in found.arms.each] == [arm.n for arm in counts.arms]
    assert not found.arms.unlikely
    first, second, third = (arm.n for arm in counts.arms)
    shares = {share.label: share.asked for one in found.shares for share in one.shares}
    assert {label: own and own.n for label, own in shares.items()} == {
        "rare": first, "common": second + third, "x": first + second, "y": first + second, "z": first + second,
        "chess": third, "judo": third,
    }  # fmt: skip
    pairs = {pair.names: pair.asked for pair in found.pairs.tested}
    assert {names: own and (own.n, own.of) for names, own in pairs.items()} == {
        ("rare", "town"): (first, 6_000),
        ("town", "common"): (second, 6_000),
        ("sports: chess", "sports: judo"): (third, 6_000),
        ("sports: chess", "common"): (third, 6_000),
        ("sports: judo", "common"): (third, 6_000),
    }
    assert (found.pairs.apart, found.pairs.nobody) == (5, 0)
    assert survey_findings(simulated(TRUTH, PLAN, np.random.default_rng(1), n=100)).arms is None


def test_unlikely_sizes_are_found_and_not_warned_about() -> None:
    one, other = (simulated(TRUTH, ARMS, np.random.default_rng(1), n=n) for n in (6_000, 1_000))
    found = survey_findings(dn.Counts(ARMS, arms=[*one.arms[:2], other.arms[2]]))
    assert found.arms is not None
    assert found.arms.unlikely
