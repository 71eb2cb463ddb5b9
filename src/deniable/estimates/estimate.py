"""Estimates of the true answers' tables, with their covariance in closed form.

`estimate` inverts the counts axis by axis (`structure`). Exactly unbiased estimates may be negative or above N: they
are kept as they are. Estimates of disjoint groups of respondents add, whatever their plans: counts and covariances add.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import product
from math import inf, isfinite, nan, prod, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.counts.counts import Counts
from deniable.errors import EstimateError
from deniable.estimates.feasible import (
    Equality,
    ProperTable,
    margin_shares,
    proper_table,
    seen_in_counts,
    seen_in_patterns,
)
from deniable.estimates.posterior import Posterior, check_convergence, truncated_normal
from deniable.estimates.respondents import (
    SLACK,
    SUBJECTS,
    DenseGroup,
    Group,
    at_independence,
    judge,
    margin,
    open_moment,
    open_variance,
    testable,
)
from deniable.inference.association import full, strength, wald
from deniable.inference.axis import Array, Axis
from deniable.inference.cumulants import Cumulants
from deniable.inference.intervals import checked_level, limits
from deniable.inference.one_column import OneColumn
from deniable.inference.ratio_distribution import RatioLaw
from deniable.inference.ratios import CONDITIONAL, CORRELATION, DIFFERENCE, ODDS_RATIO, RATIO, Question, settled
from deniable.inference.results import Answer, Association, Independence, JointAnswer, effective_n
from deniable.inference.tensors import along, answer_row, answer_rows, contract, flat, invert, margins, sandwich
from deniable.kernels import physical_memory
from deniable.survey.schema import Choice, Feature

METHODS = ("consistent", "unbiased", "feasible")
FAR = 3.29  # standard errors: one chance in a thousand


@dataclass(frozen=True)
class Condition:
    """One known equality: how far the estimate was from it, in standard errors; None if it said nothing new."""

    what: str
    distance: float | None

    @property
    def far(self) -> bool:
        """Whether the estimate and what is claimed to be known hardly fit together (one chance in a thousand)."""
        return self.distance is not None and abs(self.distance) > FAR


@dataclass(frozen=True, eq=False)
class Estimate:
    """The estimated truth of some features: tensors like `Counts.array`'s, in respondents, with their covariance.

    It is about these respondents (the noise of randomizing alone), or with `about("population")` about the population
    that they were drawn from (with the sampling added).
    """

    features: tuple[Feature, ...]
    groups: tuple[Group | DenseGroup, ...]
    method: str
    subject: str = "respondents"
    conditions: tuple[Condition, ...] = ()
    fitted: Array | None = None  # a proper table with its margins, in respondents, if that is what is asked for
    proper: ProperTable | None = None  # where that comes from, while it can be fitted again

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, in the order of the axes."""
        return tuple(feature.name for feature in self.features)

    @property
    def n(self) -> int:
        """How many respondents."""
        return sum(group.n for group in self.groups)

    @cached_property
    def mean(self) -> Array:
        """Estimated numbers of respondents; index 0 of an axis means that the feature is not looked at."""
        return np.asarray(self._sum(lambda group: group.truth)) if self.fitted is None else self.fitted

    @cached_property
    def variance(self) -> Array:
        """The estimated variance of each entry of `mean`; negative where there are not enough reports."""
        return np.asarray(self._sum(lambda group: group.own_variances(population=self._population)))

    def covariance(self, left: Mapping[str, Any] | None = None, right: Mapping[str, Any] | None = None) -> Any:
        """The dense covariance, (size, size) in C order of `mean`; or of two cells, `{feature: answer}`."""
        if (left is None) != (right is None):
            raise EstimateError("covariance takes two cells, or none for the whole matrix")
        if left is not None and right is not None:
            return self.covariance_of(self._weights(left), self._weights(right))
        size = self.mean.size
        if 3 * 8 * size**2 > physical_memory() // 2:
            raise EstimateError(
                f"the covariance of {size:,} entries needs {3 * 8 * size**2 / 1e9:,.1f} GB; "
                "ask for its entries, covariance({...}, {...}), or for fewer features with project"
            )
        return self._sum(lambda group: group.dense(population=self._population))

    def covariance_of(self, left: Sequence[Array], right: Sequence[Array]) -> float:
        """Of two weighted sums of entries whose weights are products, one vector per feature."""
        return float(self._sum(lambda group: group.covariance(left, right, population=self._population)))

    def project(self, *names: str) -> "Estimate":
        """The estimate of fewer features, in this order."""
        if len(names) == 1 and isinstance(names[0], list | tuple):
            names = tuple(names[0])
        texts = all(isinstance(name, str) for name in names)
        if not names or not texts or len(set(names)) < len(names) or not set(names) <= set(self.names):
            raise EstimateError(f"project takes one or more of {', '.join(map(repr, self.names))}; found {list(names)}")
        axes = [self.names.index(name) for name in names]
        groups = tuple(group.project(axes) for group in self.groups)
        features = tuple(self.features[axis] for axis in axes)
        fitted = None if self.fitted is None else margin(self.fitted, axes)
        return replace(self, features=features, groups=groups, fitted=fitted, proper=None)

    def about(self, subject: str) -> "Estimate":
        """The same estimate about "respondents", or about the "population" they were drawn from."""
        if subject not in SUBJECTS:
            raise EstimateError(f'an estimate is about "respondents" or the "population"; found {subject!r}')
        if any(subject not in group.subjects for group in self.groups):
            raise EstimateError(
                f"this estimate was conditioned about the {self.subject}; say about({subject!r}) before given(...)"
            )
        return replace(self, subject=subject)

    def given(
        self,
        known: Mapping[str, Mapping[Any, float]] | Sequence[tuple[npt.ArrayLike, float]] = (),
        *,
        zeros: Sequence[Mapping[str, Any]] = (),
    ) -> "Estimate":
        """Condition mean and covariance on linear equalities that are known to hold about the same subject.

        `{"age": {"65+": 0.2}}` are known proportions, `zeros=[{"smoker": True, "age": "18-29"}]` answers that cannot go
        together, and `[(weights, value)]` any other equality, weights shaped like `mean` and value in respondents.
        What says nothing new is kept in `conditions`; a contradiction is an error; an equality far from the estimate,
        where the normal approximation fails, is kept in `conditions` and warned about. A proper table is fitted again.
        """
        if self.fitted is not None and self.proper is None:
            raise EstimateError(
                'only a feasible table can be fitted again with what is known: method="feasible", and given(...) '
                "before project or +"
            )
        proper = self.proper and self.proper.given(self._over_cells(known, zeros))
        before = replace(self, fitted=None, proper=None)
        mean, covariance = before.mean.reshape(-1).copy(), np.array(self.covariance())
        raw = self._sum(lambda group: group.raw_variances(population=self._population))
        noise = np.sqrt(np.abs(raw.reshape(-1)))  # before anything was known: what rounding is to be compared with
        conditions = list(self.conditions)
        for what, weights, value in self._equalities(known, zeros):
            spread = covariance @ weights
            variance, gap = float(weights @ spread), value - float(weights @ mean)
            most = float(np.abs(weights) @ noise) ** 2  # the variance if all errors went together
            if variance < -SLACK * most:
                raise EstimateError(f"not enough reports to condition on {what}: its estimated variance is negative")
            if variance <= SLACK * most:
                if abs(gap) > sqrt(SLACK * most) + SLACK * self.n:
                    raise EstimateError(f"{what} contradicts what was known before it: {gap:+.6g} respondents apart")
                conditions.append(Condition(what, None))
                continue
            mean += spread * gap / variance
            covariance -= np.outer(spread, spread) / variance
            conditions.append(Condition(what, gap / sqrt(variance)))
            if conditions[-1].far:
                warnings.warn(
                    f"{what} is {conditions[-1].distance:+.1f} standard errors away from the estimate", stacklevel=2
                )
        group = DenseGroup(self.n, mean.reshape(self.mean.shape), {self.subject: covariance}, self.groups)
        conditioned = replace(before, groups=(group,), conditions=tuple(conditions))
        return _fitted(conditioned, proper) if proper else conditioned

    def _over_cells(self, known: Any, zeros: Sequence[Mapping[str, Any]]) -> list[Equality]:
        """What is known, with weights over cells and in shares."""
        return [
            (what, along(weights.reshape(self.mean.shape), self._to_cells()), value / self.n)
            for what, weights, value in self._equalities(known, zeros)
        ]

    @property
    def _rows(self) -> list[Array]:
        """The weights of each feature's answers."""
        return [answer_rows(len(feature.columns)) for feature in self.features]

    def _to_cells(self) -> list[Array]:
        """From weights of entries of `mean` to weights of cells, a matrix for each feature."""
        return [margins(len(feature.columns)).T for feature in self.features]

    def _equalities(self, known: Any, zeros: Any) -> Iterator[tuple[str, Array, float]]:
        """What is known as (words, flat weights, value in respondents), checked."""
        if isinstance(known, Mapping):
            for name, shares in known.items():
                if not isinstance(shares, Mapping) or not all(_is_share(share) for share in shares.values()):
                    raise EstimateError(
                        f"known shares are {{feature: {{answer: share}}}}, from 0 to 1; found {known!r}"
                    )
                if sum(shares.values()) > 1 + SLACK:
                    raise EstimateError(f"the known shares of {name!r} sum to {sum(shares.values()):.6g}, more than 1")
                for answer, share in shares.items():
                    yield f"{name} = {answer}: {share}", flat(self._weights({name: answer})), share * self.n
        elif isinstance(known, Sequence) and all(isinstance(one, Sequence) and len(one) == 2 for one in known):
            for place, (weights, value) in enumerate(known):
                if not _is_number(value):
                    raise EstimateError(f"the value of equality {place} must be a finite number; found {value!r}")
                yield f"equality {place}", self._checked_weights(weights).reshape(-1), float(value)
        else:
            raise EstimateError(f"given takes known shares, or a list of (weights, value); found {known!r}")
        if not isinstance(zeros, Sequence) or not all(isinstance(cell, Mapping) and cell for cell in zeros):
            raise EstimateError(f"zeros are a list of cells, [{{feature: answer, ...}}, ...]; found {zeros!r}")
        for cell in zeros:
            words = ", ".join(f"{name} = {answer}" for name, answer in cell.items())
            yield f"no {words}", flat(self._weights(cell)), 0.0

    def _checked_weights(self, weights: Any) -> Array:
        """Weights of the entries of `mean`, as numbers."""
        try:
            array = np.asarray(weights)
        except ValueError:
            raise EstimateError(f"weights must have the shape of mean, {self.mean.shape}; found {weights!r}") from None
        if array.shape != self.mean.shape:
            raise EstimateError(f"weights must have the shape of mean, {self.mean.shape}; found {array.shape}")
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            raise EstimateError("weights must be finite numbers")
        return array.astype(np.float64)

    def cell(self, answers: Mapping[str, Any] | None = None, /, **more: Any) -> Answer:
        """The share of respondents with these answers: `cell(smoker=True, age="65+")`, or a mapping."""
        if answers is not None and (not isinstance(answers, Mapping) or answers.keys() & more.keys()):
            raise EstimateError(f"cell takes each answer once: cell(smoker=True), or a mapping; found {answers!r}")
        weights = self._weights({**(answers or {}), **more})
        found, judged = judge(self.groups, [vector[None] for vector in weights], population=self._population)
        law = self._law(weights)
        enough = bool(judged.reshape(-1)[0]) or (law is not None and law.enough)
        cut = self.fitted is not None
        return Answer(
            contract(self.mean, weights),
            self.n,
            found.at(0),
            enough,
            law,
            cut,
            self._open(weights, weights),
            self.subject,
        )

    def linear(self, weights: npt.ArrayLike) -> Answer:
        """Any weighted sum of entries of `mean`, weights shaped like it.

        If the weights are a product over features, as a cell's are, it is judged as a cell is. Else its interval is the
        normal one, trusted if those of all cells it uses are.
        """
        weights = self._checked_weights(weights)
        count, over_cells = float((weights * self.mean).sum()), along(weights, self._to_cells())
        cut = self.fitted is not None and bool(over_cells.min() >= 0 and over_cells.max() <= 1)
        if (vectors := _factors(weights)) is not None:
            found, enough = judge(self.groups, [vector[None] for vector in vectors], population=self._population)
            openly = self._open(vectors, vectors)
            return Answer(count, self.n, found.at(0), bool(enough.reshape(-1)[0]), None, cut, openly, self.subject)
        free, line = self._free(), weights.reshape(-1)
        variance = float(line @ free.covariance() @ line)
        raw = free._sum(lambda group: group.raw_variances(population=self._population))
        if abs(variance) <= SLACK * float(np.abs(line) @ np.sqrt(np.abs(raw.reshape(-1)))) ** 2:
            variance = 0.0
        _, enough = judge(free.groups, self._rows, population=self._population)
        used = over_cells != 0
        openly = sum(open_variance(group, weights) for group in free.groups)
        found = Cumulants.normal(sum(float((weights * group.truth).sum()) for group in free.groups), variance)
        known = variance == 0 and not free._plugged_in
        trusted = known or (variance > 0 and bool(enough[used].all()))
        return Answer(count, self.n, found, trusted, None, cut, openly, self.subject)

    def table(self, *, level: float = 0.95, simultaneous: bool = False) -> Any:
        """Tidy rows, one per combination of answers: the features, proportion, stderr, low and high.

        `low` and `high` are nan where there are not enough reports. `simultaneous` intervals hold all true proportions
        of the table at once, at this level of confidence.
        """
        level = checked_level(level)
        _check_columns(self.names)
        rows = self._rows
        if simultaneous:
            level = level ** (1 / prod(len(matrix) for matrix in rows))  # Sidak: enough for any correlations
        found, enough = judge(self.groups, rows, population=self._population)
        low, high = limits(found, level)
        if len(rows) == 1:
            for place, vector in enumerate(rows[0]):
                if law := self._law([vector]):
                    low[place], high[place] = law.limits(level)
                    enough[place] |= law.enough
        mean = along(self.mean, rows)
        if self.fitted is not None:  # cut to what can be, and no shorter than to hold the table itself
            mean = np.maximum(mean, 0)  # of rounding
            low, high = np.minimum(np.clip(low, 0, self.n), mean), np.maximum(np.clip(high, 0, self.n), mean)
        numbers = {
            "proportion": mean,
            "stderr": np.sqrt(np.where(found.variance >= 0, found.variance, np.nan)),
            "low": np.where(enough, low, np.nan),
            "high": np.where(enough, high, np.nan),
        }
        labels = list(zip(*product(*(feature.answers for feature in self.features)), strict=True))
        columns = {name: pa.array(values) for name, values in zip(self.names, labels, strict=True)}
        return pa.table(columns | {name: column.reshape(-1) / self.n for name, column in numbers.items()})

    # -- questions that are not linear ------------------------------------------------------------------------------

    def conditional(self, what: str, *, given: str | Sequence[str], level: float = 0.95) -> Any:
        """The shares of a feature's answers among those with each answer to others: P(what | given), as tidy rows.

        `conditional("smoker", given="age")` is an Arrow table of age, smoker, proportion, stderr, low and high.
        """
        level = checked_level(level)
        others = [given] if isinstance(given, str) else given
        if not isinstance(others, Sequence) or not others:
            raise EstimateError(f"conditional takes one or more features that are given; found {given!r}")
        est = self._of("conditional", *others, what)
        _check_columns(est.names)
        *grid, own = est._rows
        rows = [*grid, own], [*grid, np.eye(1, own.shape[1])]  # with an answer, and whatever it is
        (top, first), (bottom, second) = (judge(est.groups, of, population=est._population) for of in rows)
        cells = [dict(zip(est.names, answers, strict=True)) for answers in product(*(f.answers for f in est.features))]
        both = [est.covariance(cell, {name: cell[name] for name in others}) for cell in cells]
        x = np.stack(np.broadcast_arrays(top.mean, bottom.mean), axis=-1) / est.n
        of_top, of_both, of_bottom = np.broadcast_arrays(
            top.variance, np.reshape(both, top.variance.shape), bottom.variance
        )
        spread = np.moveaxis(np.array([[of_top, of_both], [of_both, of_bottom]]), (0, 1), (-2, -1)) / est.n**2
        spread = settled(spread, SLACK / est.n)
        law = CONDITIONAL.law(x, spread)
        trusted = first & second & CONDITIONAL.steady(x, spread) & np.isfinite(law.stderr)
        low, high = (np.where(trusted, law.ppf(0.5 + side * level / 2), np.nan) for side in (-1, 1))
        shares = law.value
        low, high = np.minimum(low, shares), np.maximum(high, shares)  # of rounding
        if est.fitted is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = along(est.mean, rows[0]) / along(est.mean, rows[1])
            low, high = np.minimum(np.clip(low, 0, 1), shares), np.maximum(np.clip(high, 0, 1), shares)
        columns = {name: pa.array([cell[name] for cell in cells]) for name in est.names}
        numbers = {"proportion": shares, "stderr": law.stderr, "low": low, "high": high}
        return pa.table(columns | {name: np.asarray(column).reshape(-1) for name, column in numbers.items()})

    def difference(self, what: Any, *, between: Sequence[Any]) -> JointAnswer:
        """A share among those with one answer, less that among those with another.

        `difference("smoker", between=("age", "18-29", "65+"))` is P(smoker | 18-29) - P(smoker | 65+). What is asked
        about is a flag, or a choice's answer such as `("age", "65+")`.
        """
        return self._asked(DIFFERENCE, self._two_shares(what, between), -1, 1)

    def ratio(self, what: Any, *, between: Sequence[Any]) -> JointAnswer:
        """The ratio of two shares, as in `difference`: P(smoker | 18-29) / P(smoker | 65+)."""
        return self._asked(RATIO, self._two_shares(what, between), 0, inf)

    def odds_ratio(self, first: Any, second: Any) -> JointAnswer:
        """The odds of the first if the second is true, over those if it is not."""
        (a, is_a, no_a), (b, is_b, no_b) = self._indicators(first, second)
        pairs = ((is_a, is_b), (is_a, no_b), (no_a, is_b), (no_a, no_b))
        return self._asked(ODDS_RATIO, [{a: left, b: right} for left, right in pairs], 0, inf)

    def correlation(self, first: Any, second: Any) -> JointAnswer:
        """The correlation (phi) of two flags, or of choices' answers such as `("age", "65+")`."""
        (a, is_a, no_a), (b, is_b, no_b) = self._indicators(first, second)
        return self._asked(CORRELATION, [{a: is_a}, {a: no_a}, {b: is_b}, {b: no_b}, {a: is_a, b: is_b}], -1, 1)

    def association(self, first: str, second: str) -> Association:
        """Cramer's V and mutual information of two features, with the bias that the noise brings taken off.

        Mutual information divides by every cell, so all of them must surely not be empty.
        """
        est = self._of("association", first, second)
        est._check_sums("association")
        rows, shares = est._rows, est._shares()
        covariance = sandwich(rows, est.covariance()) / est.n**2
        names = (("Cramer's V", False, 1.0), ("mutual information", True, inf))
        if not est._plugged_in and not settled(covariance, SLACK / est.n).any():
            exact = []
            for name, mutual, most in names:
                value = float(strength(shares, covariance, mutual=mutual)[0].known)
                point = RatioLaw(value, 1.0, 0.0, 0.0, 0.0)
                exact.append(JointAnswer(name, value, point, isfinite(value), est.subject, nan, 0.0, most))
            return Association(*exact)
        trusted = bool(judge(est.groups, rows, population=est._population)[1].all())
        found = []
        for name, mutual, most in names:
            law, gradient = strength(shares, covariance, mutual=mutual)
            line = along(gradient.reshape(shares.shape), [matrix.T for matrix in rows])
            wide = sum(open_variance(group, line) for group in est.groups) / est.n**2
            ok = (
                trusted
                and bool(full(shares, covariance, cells=mutual))
                and isfinite(law.value)
                and isfinite(law.stderr)
            )
            size = effective_n(est.n, wide, float(gradient @ covariance @ gradient), est.subject)
            found.append(JointAnswer(name, min(float(law.value), most), law, ok, est.subject, size, 0.0, most))
        return Association(*found)

    def independence(self, first: str, second: str) -> Independence:
        """A test of whether two features are independent in the population, whomever the estimate is about."""
        from scipy.special import chdtrc

        est = self._of("independence", first, second)
        est._check_sums("independence")
        groups = [group for group in est.groups if isinstance(group, Group)]
        if len(groups) < len(est.groups):
            raise EstimateError("independence is tested before given(...)")
        rows = est._rows
        covariance = np.sum([at_independence(group) for group in groups], axis=0)
        statistic, degrees = wald(est._shares(), sandwich(rows, covariance) / est.n**2)
        p_value = float(chdtrc(degrees, statistic)) if testable(groups, rows) else nan
        return Independence(float(statistic), degrees, p_value)

    def _shares(self) -> Array:
        """Of all cells, not cut."""
        return along(self._sum(lambda group: group.truth), self._rows) / self.n

    def _of(self, asker: str, *names: Any) -> "Estimate":
        """The estimate of the features that a question takes."""
        if not all(isinstance(name, str) and name in self.names for name in names) or len(set(names)) < len(names):
            have = ", ".join(map(repr, self.names))
            raise EstimateError(f"{asker} takes different features of this estimate, {have}; found {list(names)}")
        return self.project(*names)._free()

    def _free(self) -> "Estimate":
        """By maximum likelihood, with the groups from before it: they know of no edge, near which nothing is normal."""
        before = [
            group.before if isinstance(group, DenseGroup) and group.likeliest else (group,) for group in self.groups
        ]
        return replace(self, groups=tuple(one for groups in before for one in groups))

    @property
    def _plugged_in(self) -> bool:
        """Whether a variance may be zero only because reports happen to be alike: about the population, not given."""
        return self._population and any(isinstance(group, Group) for group in self.groups)

    def _two_shares(self, what: Any, between: Any) -> list[dict[str, Array]]:
        if not isinstance(between, list | tuple) or len(between) != 3:
            told = 'between is a feature and two of its answers: ("age", "18-29", "65+")'
            raise EstimateError(f"{told}; found {between!r}")
        feature, *answers = between
        if not all(isinstance(answer, str | bool | np.bool_) for answer in answers) or answers[0] == answers[1]:
            raise EstimateError(f"between takes two different answers; found {answers[0]!r} and {answers[1]!r}")
        pieces = []
        for answer in answers:
            (a, is_a, _), (b, is_b, _) = self._indicators(what, (feature, answer))
            pieces += [{a: is_a, b: is_b}, {b: is_b}]
        return pieces

    def _check_sums(self, asker: str) -> None:
        """Refuse tables whose answers do not sum to the whole, as those of unary encoding's plain estimates."""
        for group in self.groups:
            if isinstance(group, Group) and any(
                axis.m > 1 and not axis.centred and not axis.sums_to_one for axis in group.axes
            ):
                raise EstimateError(f'{asker} needs tables whose answers sum to the whole; use method="consistent"')

    def _indicators(self, first: Any, second: Any) -> tuple[tuple[str, Array, Array], tuple[str, Array, Array]]:
        """Of two different features."""
        one, other = self.indicator(first), self.indicator(second)
        if one[0] == other[0]:
            raise EstimateError(f"this takes two different features; found {one[0]!r} twice")
        return one, other

    def indicator(self, what: Any) -> tuple[str, Array, Array]:
        """A flag, or a choice's answer: its feature, and the weights on that axis of "is" and of "is not"."""
        name, answer = (what, True) if isinstance(what, str) else _pair_of(what)
        if name in self.names and isinstance(what, str):
            feature = self.features[self.names.index(name)]
            if isinstance(feature, Choice):
                raise EstimateError(f"{name!r} is a choice: say which answer, such as {(name, feature.answers[0])}")
        vector = self._weights({name: answer})[self.names.index(name)]
        return name, vector, np.eye(1, len(vector))[0] - vector

    def product_weights(self, vectors: Mapping[str, Array]) -> list[Array]:
        """Weights that are a product over features; those that are not named are not looked at."""
        return [vectors.get(f.name, np.eye(1, 1 + len(f.columns))[0]) for f in self.features]

    def _asked(
        self, question: Question, products: Sequence[Mapping[str, Array]], least: float, most: float
    ) -> JointAnswer:
        """The answer to a question about a few shares, whose weights are products over features."""
        est = self.project(*dict.fromkeys(name for one in products for name in one))._free()
        pieces = [est.product_weights(one) for one in products]
        own = np.array([est._sum(lambda group, w=w: contract(group.truth, w)) for w in pieces]) / est.n
        covariance, openly = (
            np.array([[of(left, right) for right in pieces] for left in pieces]) / est.n**2
            for of in (est.covariance_of, est._open)
        )
        covariance = settled(covariance, SLACK / est.n)
        columns = [np.unique(vectors, axis=0, return_inverse=True) for vectors in zip(*pieces, strict=True)]
        _, judged = judge(est.groups, [rows for rows, _ in columns], population=est._population)
        trusted = bool(judged[tuple(places.reshape(-1) for _, places in columns)].all())
        law = question.law(own, covariance)
        enough = trusted and bool(question.steady(own, covariance)) and bool(np.isfinite(law.stderr))
        value, cut = float(law.value), (-inf, inf)
        if est.fitted is not None:
            fitted = np.array([contract(est.mean, weights) for weights in pieces]) / est.n
            value, cut = float(question.law(fitted, covariance).value), (least, most)
        wide, ours = (float(question.variance(own, of)) for of in (openly, covariance))
        size = effective_n(est.n, wide, ours, est.subject)
        return JointAnswer(question.name, value, law, enough, est.subject, size, *cut)

    def _open(self, left: Sequence[Array], right: Sequence[Array]) -> float:
        """The covariance about the population of two weighted sums, if all answers were given openly."""
        return float(sum(open_moment(group, left, right) for group in self.groups))

    def _law(self, weights: Sequence[Array]) -> OneColumn | None:
        """The exact law of an answer, if there is one."""
        return self.groups[0].column(weights, population=self._population) if len(self.groups) == 1 else None

    def __add__(self, other: "Estimate") -> "Estimate":
        if not isinstance(other, Estimate):
            return NotImplemented
        if self.features != other.features or self.subject != other.subject:
            raise EstimateError(
                "estimates add over the same features with the same values, in the same order and about the same; "
                f"found {', '.join(self.names)}, about the {self.subject}, and {', '.join(other.names)}, about the "
                f"{other.subject}"
            )
        method = self.method if self.method == other.method else "mixed"
        if (self.fitted is None) != (other.fitted is None):
            raise EstimateError(f"proper tables add to proper tables; found {self.method} and {other.method}")
        fitted = None if self.fitted is None or other.fitted is None else self.fitted + other.fitted
        return replace(
            self, groups=self.groups + other.groups, method=method, conditions=self.conditions + other.conditions,
            fitted=fitted, proper=None,
        )  # fmt: skip

    def posterior(self, *, draws: int = 1000, rng: np.random.Generator | None = None) -> Posterior:
        """Draws of proper tables about the population: the normal law of the counts with a flat prior over tables.

        Chains that have not mixed are warned about.
        """
        if self.proper is None:
            raise EstimateError(
                f"draws need a feasible table that was not projected or added; this one is {self.method}: "
                'estimate(..., method="feasible").posterior()'
            )
        H, b = self.proper.misfit()
        n = self.proper.n
        shares, convergence = truncated_normal(
            n * H, n * b, *self.proper.equations(), draws, np.random.default_rng() if rng is None else rng
        )
        check_convergence(convergence)
        return Posterior(
            self.names, tuple(product(*(feature.answers for feature in self.features))), shares, convergence
        )

    def sample(self, n: int, rng: np.random.Generator | None = None) -> Any:
        """Synthetic records, drawn from a proper table: an Arrow table with a column for each feature."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise EstimateError(f"sample takes how many records to draw, a whole number; found {n!r}")
        rng = np.random.default_rng() if rng is None else rng
        if not isinstance(rng, np.random.Generator):
            raise EstimateError(f"rng must be a numpy Generator, such as np.random.default_rng(1); found {rng!r}")
        cells = along(self.mean, self._rows)
        if cells.min() < -SLACK * self.n:
            raise EstimateError(f'only a proper table can be drawn from; this one is {self.method}: use "feasible"')
        shares = np.maximum(cells, 0).reshape(-1)
        places = np.unravel_index(rng.choice(shares.size, int(n), p=shares / shares.sum()), cells.shape)
        columns = {
            feature.name: pa.array(feature.answers).take(pa.array(codes))
            for feature, codes in zip(self.features, places, strict=True)
        }
        return pa.table(columns)

    def __radd__(self, other: Any) -> "Estimate":
        return self if other == 0 else NotImplemented  # sum() starts from 0

    def __repr__(self) -> str:
        reports = "1 report" if self.n == 1 else f"{self.n:,} reports"
        return f"<Estimate ({self.method}) of {' x '.join(self.names)}, {reports}, about the {self.subject}>"

    @property
    def _population(self) -> bool:
        return self.subject == "population"

    def _sum(self, of: Any) -> Any:
        return sum(of(group) for group in self.groups)

    def _weights(self, answers: Mapping[str, Any]) -> list[Array]:
        """One vector per feature: the answer's, or index 0 for a feature that is not asked about."""
        if unknown := [name for name in answers if name not in self.names]:
            raise EstimateError(f"no feature {unknown[0]!r} here; there are {', '.join(map(repr, self.names))}")
        weights = []
        for feature in self.features:
            rows = np.eye(1, 1 + len(feature.columns))
            if feature.name in answers:
                options = list(feature.answers)
                if not isinstance(answers[feature.name], str | bool | np.bool_) or answers[feature.name] not in options:
                    raise EstimateError(f"{feature.name!r} has the answers {options}; found {answers[feature.name]!r}")
                rows = answer_row(len(feature.columns), options.index(answers[feature.name]))[None]
            weights.append(rows[0])
        return weights


def estimate(counts: Counts, names: Sequence[str], *, method: str = "consistent") -> Estimate:
    """Estimate the table of these features from counts that hold it.

    `consistent` (the default) centres each report's evidence, so that a choice's values sum to the whole and all tables
    agree with their margins; `unbiased` is the plain estimate. Both are unbiased. `feasible` is a proper table, nothing
    negative and with the right sum, with the uncertainty of `consistent`; it uses whole patterns if counts hold them.
    """
    if method not in METHODS:
        raise EstimateError(
            f"method must be one of {', '.join(METHODS)}; found {method!r}. Maximum likelihood needs the reports: "
            "dn.maximum_likelihood(reports, names)"
        )
    if not isinstance(counts, Counts):
        raise EstimateError(f"estimate takes counts, as dn.count or Counts.load give them; found {counts!r}")
    if not isinstance(names, str | Sequence):
        raise EstimateError(f'estimate takes a list of features, ["a", "b"]; found {names!r}')
    names = [names] if isinstance(names, str) else list(names)
    array = counts.array(*names)
    if not counts.n:
        raise EstimateError("there are no reports to estimate from")
    plain, centred = (tuple(Axis.of(counts.plan[name], centred=c) for name in names) for c in (False, True))
    features = tuple(counts.plan.schema[name] for name in names)
    axes = plain if method == "unbiased" else centred
    est = Estimate(features, (Group(counts.n, axes, invert(axes, array)),), method)
    if method != "feasible":
        return est
    unbiased = invert(plain, array)
    if (shown := counts.shown(*names)) is None:
        return _fitted(est, proper_table(seen_in_counts(counts.n, plain, unbiased)))
    protocols, shares = [counts.plan[name] for name in names], margin_shares(plain, unbiased)
    return _fitted(est, proper_table(seen_in_patterns(counts.n, shown / counts.n, protocols, shares)))


def _fitted(est: Estimate, table: ProperTable) -> Estimate:
    """An estimate whose mean is a proper table, and whose uncertainty is its own."""
    up = [margins(len(feature.columns)) for feature in est.features]
    return replace(est, fitted=table.n * along(table.shares, up), proper=table)


def _factors(weights: Array) -> list[Array] | None:
    """One vector per feature whose product the weights are, if they are."""
    largest = [int(place) for place in np.unravel_index(np.argmax(np.abs(weights)), weights.shape)]
    top = weights[tuple(largest)]
    if top == 0:
        return None
    lines = [
        weights[tuple(slice(None) if j == k else at for j, at in enumerate(largest))] / top for k in range(weights.ndim)
    ]
    lines[0] = lines[0] * top
    return lines if np.allclose(reduce(np.multiply.outer, lines), weights, rtol=1e-12, atol=0) else None


def _pair_of(what: Any) -> tuple[str, Any]:
    """A feature's name and an answer."""
    if not isinstance(what, list | tuple) or len(what) != 2 or not isinstance(what[0], str):
        raise EstimateError(f"this takes a flag, or a choice's answer as (name, answer); found {what!r}")
    return what[0], what[1]


def _check_columns(names: Sequence[str]) -> None:
    if taken := set(names) & {"proportion", "stderr", "low", "high"}:
        raise EstimateError(f"a table has a column called {min(taken)!r} of its own; rename that feature")


def _is_number(number: Any) -> bool:
    return isinstance(number, int | float | np.integer | np.floating) and bool(np.isfinite(number))


def _is_share(share: Any) -> bool:
    return _is_number(share) and 0 <= share <= 1
