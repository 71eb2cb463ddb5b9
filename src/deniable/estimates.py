"""Estimates of the true answers' tables, with their covariance in closed form.

`estimate` inverts the counts axis by axis (`structure`). Exactly unbiased estimates may be negative or above N: they
are kept as they are. Estimates of disjoint groups of respondents add, whatever their plans: counts and covariances add.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import product
from math import prod, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.answers import Answer
from deniable.counts import Counts
from deniable.cumulants import Cumulants
from deniable.errors import EstimateError
from deniable.feasible import Equality, ProperTable, proper_table
from deniable.groups import SLACK, SUBJECTS, DenseGroup, Group, judge, margin
from deniable.intervals import OneColumn, checked_level, limits
from deniable.planes import physical_memory
from deniable.posterior import Posterior, check_convergence, truncated_normal
from deniable.schema import Choice, Feature
from deniable.structure import Array, Axis, along, contract, flat, invert, margins

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
            pair = self._weights(left), self._weights(right)
            return float(self._sum(lambda group: group.covariance(*pair, population=self._population)))
        size = self.mean.size
        if 3 * 8 * size**2 > physical_memory() // 2:
            raise EstimateError(
                f"the covariance of {size:,} entries needs {3 * 8 * size**2 / 1e9:,.1f} GB; "
                "ask for its entries, covariance({...}, {...}), or for fewer features with project"
            )
        return self._sum(lambda group: group.dense(population=self._population))

    def project(self, *names: str) -> "Estimate":
        """The estimate of fewer features, in this order."""
        if len(names) == 1 and isinstance(names[0], list | tuple):
            names = tuple(names[0])
        if not names or len(set(names)) < len(names) or not set(names) <= set(self.names):
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
        return Answer(contract(self.mean, weights), self.n, found.at(0), enough, law, self.fitted is not None)

    def linear(self, weights: npt.ArrayLike) -> Answer:
        """Any weighted sum of entries of `mean`, weights shaped like it.

        If the weights are a product over features, as a cell's are, it is judged as a cell is. Else its interval is the
        normal one, trusted if those of all cells it uses are.
        """
        weights = self._checked_weights(weights)
        count = float((weights * self.mean).sum())
        if (vectors := _factors(weights)) is not None:
            found, enough = judge(self.groups, [vector[None] for vector in vectors], population=self._population)
            return Answer(count, self.n, found.at(0), bool(enough.reshape(-1)[0]))
        line = weights.reshape(-1)
        variance = float(line @ self.covariance() @ line)
        raw = self._sum(lambda group: group.raw_variances(population=self._population))
        if abs(variance) <= SLACK * float(np.abs(line) @ np.sqrt(np.abs(raw.reshape(-1)))) ** 2:
            variance = 0.0
        _, enough = judge(
            self.groups, [_answer_rows(feature) for feature in self.features], population=self._population
        )
        used = along(weights, self._to_cells()) != 0
        found = Cumulants.normal(sum(float((weights * group.truth).sum()) for group in self.groups), variance)
        return Answer(count, self.n, found, variance == 0 or (variance > 0 and bool(enough[used].all())))

    def table(self, *, level: float = 0.95, simultaneous: bool = False) -> Any:
        """Tidy rows, one per combination of answers: the features, proportion, stderr, low and high.

        `low` and `high` are nan where there are not enough reports. `simultaneous` intervals hold all true proportions
        of the table at once, at this level of confidence.
        """
        level = checked_level(level)
        if taken := set(self.names) & {"proportion", "stderr", "low", "high"}:
            raise EstimateError(
                f"a table has a column called {min(taken)!r} of its own; rename that feature, or use cell"
            )
        rows = [_answer_rows(feature) for feature in self.features]
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
        labels = list(zip(*product(*map(_answers, self.features)), strict=True))
        columns = {name: pa.array(values) for name, values in zip(self.names, labels, strict=True)}
        return pa.table(columns | {name: column.reshape(-1) / self.n for name, column in numbers.items()})

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
            raise EstimateError('draws need a proper table that was not projected or added: method="feasible"')
        H, b = self.proper.misfit()
        n = self.proper.n
        shares, convergence = truncated_normal(
            n * H, n * b, *self.proper.equations(), draws, np.random.default_rng() if rng is None else rng
        )
        check_convergence(convergence)
        return Posterior(self.names, tuple(product(*map(_answers, self.features))), shares, convergence)

    def sample(self, n: int, rng: np.random.Generator) -> Any:
        """Synthetic records, drawn from a proper table: an Arrow table with a column for each feature."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise EstimateError(f"sample takes how many records to draw, a whole number; found {n!r}")
        if not isinstance(rng, np.random.Generator):
            raise EstimateError(f"rng must be a numpy Generator, such as np.random.default_rng(1); found {rng!r}")
        cells = along(self.mean, [_answer_rows(feature) for feature in self.features])
        if cells.min() < -SLACK * self.n:
            raise EstimateError(f'only a proper table can be drawn from; this one is {self.method}: use "feasible"')
        shares = np.maximum(cells, 0).reshape(-1)
        places = np.unravel_index(rng.choice(shares.size, int(n), p=shares / shares.sum()), cells.shape)
        columns = {
            feature.name: pa.array(_answers(feature)).take(pa.array(codes))
            for feature, codes in zip(self.features, places, strict=True)
        }
        return pa.table(columns)

    def __radd__(self, other: Any) -> "Estimate":
        return self if other == 0 else NotImplemented  # sum() starts from 0

    def __repr__(self) -> str:
        return f"<Estimate ({self.method}) of {' x '.join(self.names)}, {self.n:,} reports, about the {self.subject}>"

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
            rows = np.eye(1 + len(feature.columns))[:1]
            if feature.name in answers:
                options = _answers(feature)
                if not isinstance(answers[feature.name], str | bool | np.bool_) or answers[feature.name] not in options:
                    raise EstimateError(f"{feature.name!r} has the answers {options}; found {answers[feature.name]!r}")
                rows = _answer_rows(feature)[options.index(answers[feature.name]) :]
            weights.append(rows[0])
        return weights


def estimate(counts: Counts, names: Sequence[str], *, method: str = "consistent") -> Estimate:
    """Estimate the table of these features from counts that hold it.

    `consistent` (the default) centres each report's evidence, so that a choice's values sum to the whole and all tables
    agree with their margins; `unbiased` is the plain estimate. Both are unbiased. `feasible` is a proper table, nothing
    negative and with the right sum, with the uncertainty of `consistent`.
    """
    if method not in METHODS:
        raise EstimateError(f"method must be one of {', '.join(METHODS)}; found {method!r}")
    if not isinstance(counts, Counts):
        raise EstimateError(f"estimate takes counts, as dn.count or Counts.load give them; found {counts!r}")
    if not isinstance(names, str | Sequence):
        raise EstimateError(f"estimate takes a list of features; found {names!r}")
    names = [names] if isinstance(names, str) else list(names)
    array = counts.array(*names)
    if not counts.n:
        raise EstimateError("there are no reports to estimate from")
    plain, centred = (tuple(Axis.of(counts.plan[name], centred=c) for name in names) for c in (False, True))
    features = tuple(counts.plan.schema[name] for name in names)
    axes = plain if method == "unbiased" else centred
    est = Estimate(features, (Group(counts.n, axes, invert(axes, array)),), method)
    return _fitted(est, proper_table(counts.n, plain, invert(plain, array))) if method == "feasible" else est


def _fitted(est: Estimate, table: ProperTable) -> Estimate:
    """An estimate whose mean is a proper table, and whose uncertainty is its own."""
    return replace(est, fitted=table.tensor, proper=table)


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


def _is_number(number: Any) -> bool:
    return isinstance(number, int | float | np.integer | np.floating) and bool(np.isfinite(number))


def _is_share(share: Any) -> bool:
    return _is_number(share) and 0 <= share <= 1


def _answers(feature: Feature) -> list[Any]:
    return list(feature.values) if isinstance(feature, Choice) else [False, True]


def _answer_rows(feature: Feature) -> Array:
    """The weights of each answer on a feature's axis: False is all less True."""
    if isinstance(feature, Choice):
        return np.eye(1 + len(feature.values))[1:]
    return np.array([[1.0, -1.0], [0.0, 1.0]])
