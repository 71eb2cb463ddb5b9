"""`fit`: a model of the whole survey from its counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from deniable.analyses.whole_survey.contrasts import NONE, Places, Terms, set_contrasts
from deniable.analyses.whole_survey.dependency_graph import MOST_COEFFICIENTS, Graph, dependency_graph
from deniable.analyses.whole_survey.evidence import SurveyEvidence, survey_evidence
from deniable.analyses.whole_survey.junction_tree import JunctionTree
from deniable.analyses.whole_survey.left_out import left_out
from deniable.analyses.whole_survey.model import FitQuality, Model
from deniable.analyses.whole_survey.pair_tests import PairTests, independent_margins, pair_tests
from deniable.analyses.whole_survey.reference import Reference, Whole
from deniable.analyses.whole_survey.shrinkage import NOWHERE, Fitted, Target, fits, least_risk
from deniable.analyses.whole_survey.surprises import beyond_shrinkage, own_variances
from deniable.analyses.whole_survey.third_order import NOT_ASKED, ONLY_PAIRS, third_order
from deniable.analyses.whole_survey.whole_table import MOST_CELLS, WholeTable
from deniable.counts.as_counts import as_counts, no_counts
from deniable.counts.counts import Counts
from deniable.errors import EstimateError
from deniable.inference.one_feature import Array

# A model of pairs is fitted so many times, each time with the table and the surprising pairs of the time before.
ROUNDS = 3
# A survey has at most so many features.
MOST_FEATURES = 100
# No model is fitted where chance explains all association more often than this, and interactions are this noisy.
UNLIKELY, NOISY = 1e-3, 0.1


@dataclass(frozen=True, eq=False)
class Laplace:
    """The covariance of margins by the delta method, from that of the coefficients (Laplace's method).

    Of margins with pairs that a model leaves out, though they were asked, it is the second moment about the model of
    the linear estimate: its covariance, and the square of how far these pairs are from the model.
    """

    machine: WholeTable | JunctionTree
    fitted: Fitted
    evidence: SurveyEvidence
    at: Reference  # at which the covariance of estimates is evaluated

    def around(self, places: Places) -> tuple[Array, Array, Array]:
        """The covariance of the shares of a margin's cells; how far they were from it unshrunk; their covariance then.

        Unshrunk is the generalized least squares estimate of the contrasts of the model and of pairs that it leaves
        out; all other contrasts are the model's.
        """
        terms, target = self.machine.terms, self.fitted.target
        left_out = [
            pair
            for pair in combinations(sorted(places), 2)
            if pair not in terms.slices and pair in self.evidence.asked_together
        ]
        if left_out:
            return self._with_pairs(places, left_out)
        sets = [one for one in terms.sets if set(one) <= set(places)]
        at = np.concatenate([np.arange(terms.count)[terms.slices[one]] for one in sets])
        rows = self._over_cells(places, sets)
        slope = self.machine.gradient(self.fitted.coefficients, places)
        covariance = np.asarray(slope @ self.fitted.posterior @ slope.T)
        apart = (target.estimate - self.fitted.mean)[at] @ rows
        return covariance, np.asarray(apart), np.asarray(rows.T @ target.covariance[np.ix_(at, at)] @ rows)

    def _with_pairs(self, places: Places, left_out: Sequence[Places]) -> tuple[Array, Array, Array]:
        """The same of a margin with pairs that the model leaves out: from all that blocks say of its features alone."""
        rising = tuple(sorted(places))
        inside = [(place,) for place in rising] + [
            pair for pair in combinations(rising, 2) if pair in self.evidence.asked_together
        ]
        terms = Terms(self.machine.terms.levels, tuple(inside))
        A, b = self.evidence.information(terms, self.at)
        S, rows = np.linalg.inv(A), self._over_cells(places, inside)
        margin = self.machine.margin(self.fitted.coefficients, rising)
        of_model = [set_contrasts(margin.shape, [place in one for place in rising]) for one in inside]
        apart = S @ b - np.concatenate(of_model) @ margin.reshape(-1)
        linear = np.asarray(rows.T @ S @ rows)
        hidden = np.isin(np.arange(terms.count), [k for one in left_out for k in range(terms.count)[terms.slices[one]]])
        off = (apart * hidden) @ rows
        return linear + np.outer(off, off), np.asarray(apart @ rows), linear

    def _over_cells(self, places: Places, sets: Sequence[Places]) -> Array:
        levels = [self.machine.terms.levels[place] for place in places]
        return np.concatenate([_over_cells(levels, places, one) for one in sets])


def _over_cells(levels: Sequence[int], places: Places, one: Places) -> Array:
    """What the mean of each contrast of a set of features adds to the shares of the cells of a table, in C order.

    The contrasts of a set are in the survey's order, whatever the order of the table's features.
    """
    ranks = sorted(range(len(places)), key=lambda axis: places[axis])
    rows = set_contrasts([levels[axis] for axis in ranks], [places[axis] in one for axis in ranks])
    rising = np.asarray(rows).reshape(-1, *(levels[axis] for axis in ranks))
    order = [ranks.index(axis) + 1 for axis in range(len(places))]
    return np.asarray(rising.transpose([0, *order]).reshape(len(rows), -1) / prod(levels))


def fit(counts: Any) -> Model:
    """Fit one table of every question of a survey to all tables that were asked.

    It is the log-linear model of main effects and interactions of two that fits what blocks say in the metric of their
    covariance, shrunk towards maximum entropy as far as Stein's unbiased risk says. Interactions of three are in it
    too, where blocks of three or more were asked and that risk is less with them.

    Parameters
    ----------
    counts
        Counts, as `dn.count(reports)` gives them; or reports, or a path to a file of either.

    Returns
    -------
    Model
        Any table of it can be asked with `project`, and records drawn with `sample`.

    Examples
    --------
    >>> model = dn.fit(counts)
    >>> model.project("smoker", "age").mean.shape
    (2, 5)
    """
    counts = as_counts(counts)
    if not isinstance(counts, Counts):
        raise EstimateError(no_counts("fit takes", counts))
    evidence = survey_evidence(counts)
    _check_asked(evidence)
    independent = independent_margins(evidence)
    tests = pair_tests(evidence, independent)
    _check_enough(evidence, tests)
    whole = (
        prod(evidence.levels) <= MOST_CELLS and Terms(evidence.levels, tuple(evidence.sets)).count <= MOST_COEFFICIENTS
    )
    return (_whole if whole else _tree)(counts, evidence, tests, independent)


def _whole(counts: Counts, evidence: SurveyEvidence, tests: PairTests, at: Reference) -> Model:
    """The model as one table, with covariances evaluated at independence first, and then at the table so fitted."""
    terms = Terms(evidence.levels, tuple(evidence.sets))
    machine = WholeTable(terms)
    begun: Mapping[float, Array] = NOWHERE
    best: Fitted | None = None
    for _ in range(ROUNDS):
        own = own_variances(best, terms) if best else NONE
        target = Target.of(*evidence.information(terms, at))
        best, begun = least_risk(fits(machine, target, own=own, begun=begun))
        at = _table(machine, best)
    assert best is not None
    left = left_out(evidence, at.margin)
    third = third_order(evidence, machine, best, at, left)
    if third.machine and third.fitted:
        machine, best = third.machine, third.fitted
        left = replace(left, held=frozenset(evidence.threes), own={})
    left = replace(left, shrunk=beyond_shrinkage(best, machine.terms))
    quality = FitQuality(
        form="whole table",
        pairs=len(tests.tests),
        not_in_model=0,
        never_asked=len(tests.never_asked),
        coefficients=machine.terms.count,
        effective=float(best.effective.sum()),
        strength=best.strength,
        strength_of_three=best.third,
        risk=best.risk,
        stderr=tests.stderr,
        order_because=third.because,
        left_out=left,
        freed=len(best.own),
    )
    spread = Laplace(machine, best, evidence, at)
    return Model(
        counts.plan.schema, counts.n, machine, best.coefficients, spread, evidence, tests, quality, dict(counts.sources)
    )


def _tree(counts: Counts, evidence: SurveyEvidence, tests: PairTests, at: Reference) -> Model:
    """The model of the pairs that are surely associated, as a junction tree; covariances are those at independence."""
    graph = dependency_graph(evidence.levels, tests.tests)
    _check_sure_of_any(evidence, tests, graph)
    terms = Terms(evidence.levels, tuple((place,) for place in range(len(evidence.levels))) + graph.pairs)
    machine = JunctionTree(terms, graph.cliques)
    best, _ = least_risk(fits(machine, Target.of(*evidence.information(terms, at))))
    tables = machine.tables(best.coefficients[None])
    quality = FitQuality(
        form="junction tree",
        pairs=len(graph.pairs),
        not_in_model=len(tests.tests) - len(graph.pairs),
        never_asked=len(tests.never_asked),
        coefficients=terms.count,
        effective=float(best.effective.sum()),
        strength=best.strength,
        strength_of_three=best.third,
        risk=best.risk,
        stderr=tests.stderr,
        order_because=ONLY_PAIRS if evidence.threes else NOT_ASKED,
        left_out=replace(
            left_out(evidence, lambda places: machine.margins(tables, places)[0]), shrunk=beyond_shrinkage(best, terms)
        ),
    )
    spread = Laplace(machine, best, evidence, at)
    return Model(
        counts.plan.schema, counts.n, machine, best.coefficients, spread, evidence, tests, quality, dict(counts.sources)
    )


def _table(machine: WholeTable, fitted: Fitted) -> Whole:
    return Whole(machine.shares(fitted.coefficients).reshape(machine.terms.levels))


def _check_asked(evidence: SurveyEvidence) -> None:
    """Refuse surveys of too many features, and those of which nobody was asked."""
    if len(evidence.levels) > MOST_FEATURES:
        raise EstimateError(f"a model has at most {MOST_FEATURES} features; found {len(evidence.levels)}")
    unseen = [name for place, name in enumerate(evidence.names) if (place,) not in evidence.sets]
    if unseen:
        raise EstimateError(f"nobody was asked {unseen[0]!r}, or it was not counted; fit a plan without it")


def _check_enough(evidence: SurveyEvidence, tests: PairTests) -> None:
    """Refuse to fit noise: no association is seen, and noise is so large that none could be."""
    if not tests.tests:
        raise EstimateError(
            "no two features were asked together and counted; count pairs: order=2 (in the shell --order 2)"
        )
    if tests.p_value > UNLIKELY and tests.stderr > NOISY:
        why = f"chance alone explains all association of {len(tests.tests):,} pairs (p = {tests.p_value:.2g})"
        raise _not_enough(evidence, tests, why)


def _check_sure_of_any(evidence: SurveyEvidence, tests: PairTests, graph: Graph) -> None:
    """Refuse a tree that would say that all is independent, where noise is so large that nothing else could be seen."""
    if not graph.pairs and tests.stderr > NOISY:
        seen = f"{len(tests.tests):,} pairs taken together (p = {tests.p_value:.2g})"
        raise _not_enough(evidence, tests, f"association is seen in {seen}, but surely in none of them")


def _not_enough(evidence: SurveyEvidence, tests: PairTests, why: str) -> EstimateError:
    """The error where noise is too large for a model, with what would do."""
    needed = evidence.n * (tests.stderr / NOISY) ** 2
    return EstimateError(
        f"not enough reports: {why}, with a standard error of {tests.stderr:.2g} for an interaction; about "
        f"{float(f'{needed:.1g}'):,.0f} respondents would make it {NOISY:g}, and a larger epsilon or fewer questions "
        "need fewer; single tables can be asked of these reports with dn.estimate(counts, [...])"
    )
