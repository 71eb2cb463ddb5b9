"""The claims that the paper makes in words about its method (section 4), each checked by a number.

Two evidence columns of rows of one kind are N independent pairs of bits, shown with probabilities p_i and p_j. Given
their counts, the count of both is hypergeometric; the normal approximation has another mean and variance. With rows of
several kinds the conditional distribution is no longer hypergeometric: it is worked out here by brute force.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from deniable.estimates.respondent_group import Group
from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array, Axis
from deniable.validation import paper_figures
from deniable.validation.figure_files import save, write_csv

# N is the number of respondents of the conditional distributions.
N = 100
# RATES are the probabilities that the two columns are shown.
RATES = (0.45, 0.31)
# KINDS are two kinds of rows: how many there are of each, with the probabilities of the two columns.
KINDS = ((4, (0.8, 0.8)), (4, (0.1, 0.1)))
SETS = paper_figures.SETS


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, what was found, and whether the claim holds."""

    says: str
    found: str
    holds: bool

    def __str__(self) -> str:
        return f"  {'holds' if self.holds else 'DOES NOT HOLD':14} {self.says}\n{'':17}{self.found}"


# -- conditional distributions -----------------------------------------------------------------------------------------


def hypergeometric(n: int, x: int, y: int) -> tuple[float, float]:
    """Mean and variance of the count of both, given the counts x and y, of n rows of one kind."""
    return x * y / n, x * y * (n - x) * (n - y) / n**2 / (n - 1)


def normal(n: int, x: float, y: float, rates: tuple[float, float] = RATES) -> tuple[float, float]:
    """Mean and variance of the count of both, given the counts x and y, by the normal approximation."""
    p, q = rates
    return x * q + y * p - n * p * q, n * p * q * (1 - p) * (1 - q)


def conditional(kinds: Sequence[tuple[int, tuple[float, float]]], x: int, y: int) -> tuple[float, float]:
    """Mean and variance of the count of both, given the counts x and y, of rows of several kinds, by brute force.

    The joint distribution of (first, second, both) is convolved row by row.
    """
    total = sum(rows for rows, _ in kinds)
    law = np.zeros((total + 1,) * 3)
    law[0, 0, 0] = 1
    for rows, (p, q) in kinds:
        for _ in range(rows):
            new = (1 - p) * (1 - q) * law
            new[1:] += p * (1 - q) * law[:-1]
            new[:, 1:] += (1 - p) * q * law[:, :-1]
            new[1:, 1:, 1:] += p * q * law[:-1, :-1, :-1]
            law = new
    both = law[x, y] / law[x, y].sum()
    places = np.arange(total + 1)
    mean = float(both @ places)
    return mean, float(both @ (places - mean) ** 2)


# -- claims -----------------------------------------------------------------------------------------------------------


def claims(found: Sequence[paper_figures.Point], many: Sequence[paper_figures.Surveys]) -> Iterator[Claim]:
    """The claims of section 4, for the points of the figures and the surveys they were made from."""
    yield _small_errors(found)
    yield _variance_estimator(many)
    yield _one_kind()
    yield _mixed_kinds()
    yield _far_constraints()
    yield _truncation(many)
    yield _exact_distribution(many)


def _small_errors(found: Sequence[paper_figures.Point]) -> Claim:
    errors = [point for point in found if point.figure == 3 and point.panel == "a" and point.n >= 1_000]
    above = max(abs(point.simulated) - paper_figures.BAND * point.error for point in errors)
    worst = max(errors, key=lambda point: abs(point.simulated))
    return Claim(
        "errors of the estimated mean above 1 % only for rare sets below N = 1 000",
        f"exactly unbiased at any N; from N = 1 000 on the simulation is off by {worst.simulated:+.2%} +- "
        f"{worst.error:.2%} at most ({worst.sets}, N = {worst.n:,})",
        above <= 0.01,
    )


def variation_of_variance(found: paper_figures.Surveys, columns: paper_figures.Set) -> float:
    """The coefficient of variation of an estimate's variance estimate, in closed form."""
    axes = tuple(Axis.of(protocol, centred=True) for protocol in paper_figures.plan().protocols)
    rows = [np.eye(2)[int(k in columns)][None] for k in range(paper_figures.FLAGS)]
    at = Group(found.n, axes, paper_figures.truth_tensor(found)).cumulants(rows, Subject.RESPONDENTS)
    return float((np.sqrt(at.variance_of_variance) / at.variance).reshape(-1)[0])


def _variance_estimator(many: Sequence[paper_figures.Surveys]) -> Claim:
    largest = {
        columns: max((one.n for one in many if variation_of_variance(one, columns) > 0.05), default=0)
        for columns in SETS
    }
    told = ", ".join(f"{paper_figures.named(columns)} up to N = {n:,}" if n else f"{paper_figures.named(columns)} never"
                     for columns, n in largest.items())  # fmt: skip
    rare = SETS[-1]
    return Claim(
        "the variance estimator is uncertain by more than 5 % for rare sets in small surveys",
        f"sd over mean, closed form: {told}",
        largest[rare] >= 1_000 > largest[SETS[0]],
    )


def _one_kind() -> Claim:
    x, y = 12, 9
    exact, wanted = conditional([(20, (0.5, 0.4))], x, y), hypergeometric(20, x, y)
    away = max(abs(a - b) for a, b in zip(exact, wanted, strict=True))
    mean, variance = normal(20, x, y, (0.5, 0.4))
    return Claim(
        "given the counts of two columns, that of both is hypergeometric (rows of one kind)",
        f"brute force, N = 20: agrees to {away:.0e}; the normal has mean {mean:.2f} for {exact[0]:.2f}, variance "
        f"{variance:.2f} for {exact[1]:.2f}",
        away < 1e-9,
    )


def _mixed_kinds() -> Claim:
    n = sum(rows for rows, _ in KINDS)
    _, exact = conditional(KINDS, 4, 4)
    _, wanted = hypergeometric(n, 4, 4)
    return Claim(
        "the same for rows of several kinds, which the paper does not set apart",
        f"{n} rows of two kinds, x = y = 4: the variance is {exact:.3f}, not {wanted:.3f}",
        abs(exact - wanted) < 1e-3,
    )


def far(steps: Sequence[float] = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)) -> list[tuple[float, float, float]]:
    """Errors of the normal approximation where both counts are so many standard deviations above their means.

    A row has the number of standard deviations, the error of the mean and the relative error of the variance.
    """
    rows = []
    for step in steps:
        x, y = (round(N * p + step * sqrt(N * p * (1 - p))) for p in RATES)
        (mean, variance), (near, width) = hypergeometric(N, x, y), normal(N, x, y)
        rows.append((step, (near - mean) / sqrt(variance), width / variance - 1))
    return rows


def _far_constraints() -> Claim:
    rows = far()
    errors = [abs(mean) for _, mean, _ in rows]
    return Claim(
        "errors of the normal approximation grow when a constraint strays far from the centre",
        f"mean off by {', '.join(f'{error:.2f}' for error in errors)} sd at 0 to 5 sd from the centre",
        errors[-1] > 5 * errors[0] and errors[-1] == max(errors),
    )


def truncation(one: paper_figures.Surveys, columns: paper_figures.Set) -> tuple[float, float]:
    """Root mean square errors of the truncated estimate, and of that rounded too, over that of the estimate itself."""
    at = paper_figures.place(columns)
    estimates, true = one.estimates[:, at], one.truth[at]
    cut = np.clip(estimates, 0, one.n)

    def error(values: Array) -> float:
        return float(np.sqrt(np.mean((values - true) ** 2)))

    return error(cut) / error(estimates), error(np.round(cut)) / error(estimates)


def _truncation(many: Sequence[paper_figures.Surveys]) -> Claim:
    ratios = [ratio for one in many for columns in SETS for ratio in truncation(one, columns)]
    return Claim(
        "rounding and truncating the estimate has positive or little impact",
        f"root mean square errors {min(ratios):.2f} to {max(ratios):.2f} times as large",
        max(ratios) <= 1.1,
    )


def _exact_distribution(many: Sequence[paper_figures.Surveys]) -> Claim:
    tests = [p for one in many for columns in SETS if (p := _chi_square(one, columns)) is not None]
    least = min(tests, default=1.0)
    return Claim(
        "the exact distribution of a single count is a sum of binomials (lemma theo-co-occ-formula)",
        f"{len(tests)} tests against simulations: the least p-value is {least:.2g}, for all "
        f"{min(1.0, least * len(tests)):.2g}",
        least * len(tests) > 0.001,
    )


def _chi_square(one: paper_figures.Surveys, columns: paper_figures.Set) -> float | None:
    """The p-value of a chi-square test of simulated counts against their exact distribution.

    Values that are expected fewer than five times are one class; None if there is nothing else.
    """
    from scipy.special import chdtrc

    exact, first = paper_figures.exact_distribution(one, columns)
    counts = one.counts[:, paper_figures.place(columns)].astype(np.int64) - first
    expected = exact * len(counts)
    kept = expected >= 5
    if kept.sum() < 2:
        return None
    seen = np.bincount(counts[(counts >= 0) & (counts < len(exact))], minlength=len(exact))
    both = [np.append(values[kept], values[~kept].sum()) for values in (seen, expected)]
    both[0][-1] += len(counts) - seen.sum()
    statistic = ((both[0] - both[1]) ** 2 / np.maximum(both[1], 1e-9))[both[1] > 1e-6].sum()
    return float(chdtrc(kept.sum() - (both[1][-1] <= 1e-6), statistic))


Moments = Sequence[tuple[float, float]]  # mean and variance


def draw(folder: Path) -> None:
    """Draw figure 4, and its numbers: conditional distributions, exact and normal, near the centre and far from it."""
    import matplotlib.pyplot as plt

    x = range(round(N * RATES[0] - 25), round(N * RATES[0] + 25))
    y = round(N * RATES[1] + 3 * sqrt(N * RATES[1] * (1 - RATES[1])))  # far from its centre
    exact, near = ([of(N, k, y) for k in x] for of in (hypergeometric, normal))
    n = sum(rows for rows, _ in KINDS)
    places = range(1, n)
    mixed, wanted = [conditional(KINDS, k, k) for k in places], [hypergeometric(n, k, k) for k in places]
    head = ["rows", "N", "x", "y", "mean", "variance", "compared with", "its mean", "its variance"]
    one_kind = [("one kind", N, k, y, *a, "normal", *b) for k, a, b in zip(x, exact, near, strict=True)]
    two_kinds = [
        ("two kinds", n, k, k, *a, "hypergeometric", *b) for k, a, b in zip(places, mixed, wanted, strict=True)
    ]
    write_csv(folder / "figure-4.csv", head, [*one_kind, *two_kinds])
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    _against_normal(left, x, exact, near, 0, f"mean of the count of both, given x and y = {y}")
    _against_normal(middle, x, exact, near, 1, f"variance of the count of both, given x and y = {y}")
    right.plot(places, [variance for _, variance in mixed], "k-o", ms=4, label="two kinds of rows (brute force)")
    right.plot(places, [variance for _, variance in wanted], "k--", label="hypergeometric")
    right.set_title(f"variance of the count of both, {n} rows, x = y", fontsize=9)
    right.set_xlabel("x = y")
    right.legend(fontsize=8, frameon=False)
    figure.suptitle(
        "Conditioning: the normal is right near the centre and not far from it; with mixed rows neither is exact",
        fontsize=10,
    )
    save(figure, folder / "figure-4.png")


def _against_normal(axis: Any, x: Sequence[int], exact: Moments, near: Moments, moment: int, title: str) -> None:
    """Draw one moment of the exact conditional distribution and of its normal approximation."""
    axis.plot(x, [both[moment] for both in exact], "k-", label="hypergeometric (exact)")
    axis.plot(x, [both[moment] for both in near], "k--", label="normal")
    axis.set_title(title, fontsize=9)
    axis.set_xlabel("x, count of the first column")
    axis.legend(fontsize=8, frameon=False)
