"""Whether interactions of three pay, where blocks of three or more questions were asked.

The model of order 3 has the interactions of three that blocks hold as further coefficients, with a prior variance of
their own. It is taken if Stein's unbiased risk of all contrasts up to three is less for it than for the model of pairs.
That may be so where no three go together beyond their pairs, too: what blocks say of three has noise in common with
what they say of two, so that pairs come out more precise beside it. With y, A and m those of all contrasts up to three,
and J the derivative of the pairs' means by their own estimate,

    (y - m)'A(y - m) - dim y + 2 tr J

is unbiased for the risk (m - E y)'A(m - E y) of the model of pairs too: A cov(m, y) has the trace of J, as y is the
best linear estimate, so that the one that pairs are fitted to covaries with it as y's own part of order 2 does.
"""

from dataclasses import dataclass

from deniable.analyses.whole_survey.contrasts import Terms
from deniable.analyses.whole_survey.dependency_graph import MOST_COEFFICIENTS
from deniable.analyses.whole_survey.evidence import SurveyEvidence
from deniable.analyses.whole_survey.left_out import LeftOut
from deniable.analyses.whole_survey.reference import Reference, Whole
from deniable.analyses.whole_survey.shrinkage import Fitted, Target, fits, least_risk, padded
from deniable.analyses.whole_survey.surprises import own_variances
from deniable.analyses.whole_survey.whole_table import WholeTable

# Order 3 is not taken where shrinkage leaves less than so many contrasts of three free: what then fits better is pairs.
LEAST_FREE = 0.5
# Why a model has order 2 where nothing else was looked at.
NOT_ASKED = "no block of three or more questions was asked"
ONLY_PAIRS = "a junction tree is made of pairs alone"


@dataclass(frozen=True, eq=False)
class ThirdOrder:
    """The model of order 3, if it is taken, and why it is or not."""

    because: str
    machine: WholeTable | None = None
    fitted: Fitted | None = None


def third_order(
    evidence: SurveyEvidence, machine: WholeTable, pairs: Fitted, at: Reference, left: LeftOut
) -> ThirdOrder:
    """The model of order 3 beside that of pairs, whose table is given; not fitted without blocks of three."""
    if not left.known:
        return ThirdOrder(NOT_ASKED)
    terms = Terms(machine.terms.levels, (*machine.terms.sets, *evidence.threes))
    if terms.count > MOST_COEFFICIENTS:
        return ThirdOrder(f"order 3 would have {terms.count:,} coefficients, more than {MOST_COEFFICIENTS:,}")
    wider, own = WholeTable(terms), pairs.own
    target = Target.of(*evidence.information(terms, at))
    best, begun = least_risk(fits(wider, target, pairs, own=own))
    at, own = Whole(wider.shares(best.coefficients).reshape(terms.levels)), own_variances(best, terms)
    target = Target.of(*evidence.information(terms, at))
    best, _ = least_risk(fits(wider, target, pairs, own=own, begun=begun))
    free = float(best.effective[terms.orders == 3].sum())
    if free < LEAST_FREE:
        return ThirdOrder(
            f"shrunk by Stein's risk, {free:.1f} of {(terms.orders == 3).sum()} contrasts of three are left"
        )
    without = risk_of_pairs(wider, target, pairs)
    risks = f"{best.risk:.1f} with interactions of three, {without:.1f} without"
    because = f"Stein's risk of contrasts up to three is {risks}"
    return ThirdOrder(because, wider, best) if best.risk < without else ThirdOrder(because)


def risk_of_pairs(wider: WholeTable, target: Target, pairs: Fitted) -> float:
    """Stein's unbiased risk of a model of pairs, for the contrasts of a wider model and their target."""
    mean = wider.mean(padded(pairs.coefficients, wider.terms))
    return target.misfit(mean) - len(mean) + 2 * float(pairs.effective.sum())
