"""Draw designs.png: who is asked what, and the error of a table against the number of questions.

    python docs/pictures/make_designs.py

All errors are in closed form, from the noise of the library's own protocols. At uniform answers, and about the
population, a contrast of mean square 1 over the K combinations of a block has the variance v = K c0 + alpha + 1 in one
report (`Dependence.noise`), a product of contrasts over several blocks the product of theirs. If a share of f_j of the
respondents is asked j given questions, the mean variance of a cell of a table of t questions with m answers each is

    sum over j = 1 to t of  C(t, j) (m - 1)^j  v_j / (f_j n m^2t)
"""

from collections.abc import Callable
from functools import cache
from math import comb, sqrt
from pathlib import Path

import deniable as dn

PEOPLE = 100_000  # The errors are those of a survey of so many people.
EPSILON = 2.0  # The whole report has this epsilon.
NUMBERS = range(3, 33)  # These are the numbers of questions on the horizontal axis.
MOST_COMBINATIONS = 512  # Larger blocks are never best in this range.
# BLUE, ORANGE, GREEN, PURPLE and SKY are of Okabe and Ito's palette, which colour-blind people can tell apart.
BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"
SOFT = "#E4E4E4"

Question = dn.Flag | dn.Choice


def questions(number: int, answers: int) -> list[Question]:
    """So many questions of so many answers each."""
    return [dn.Flag(f"q{k}") if answers == 2 else dn.Choice(f"q{k}", map(str, range(answers))) for k in range(number)]


@cache
def variance(answers: int, together: int, epsilon: float) -> float:
    """The variance v of a contrast in one report of a block of so many questions, by the protocol that a plan takes."""
    asked = questions(together, answers)
    (block,) = dn.Plan(dn.Schema(asked), epsilon=epsilon, together=[[q.name for q in asked]]).blocks
    noise, columns = block.protocol.dependence.noise, block.protocol.columns
    if columns == 1:  # a flag's contrast is twice its bit's estimate, less one
        return 4 * noise.c0 + 2 * noise.alpha + 1
    return columns * noise.c0 + noise.alpha + 1


def error(answers: int, order: int, of: Callable[[int], float]) -> float:
    """The root mean square error of a cell in percentage points, where `of` gives v_j / f_j."""
    total = sum(comb(order, j) * (answers - 1) ** j * of(j) for j in range(1, order + 1))
    return 100 * sqrt(total / PEOPLE) / answers**order


def all_asked(number: int, answers: int, order: int, epsilon: float) -> float:
    """Everybody is asked everything, each answer alone, with an even part of epsilon."""
    return error(answers, order, lambda j: variance(answers, 1, epsilon / number) ** j)


def some_apart(number: int, answers: int, order: int, epsilon: float) -> float:
    """Each person is asked some of the questions, each answer alone; the best number of them."""

    def asked(k: int) -> float:
        return error(answers, order, lambda j: variance(answers, 1, epsilon / k) ** j * comb(number, j) / comb(k, j))

    return min(asked(k) for k in range(order, number + 1))


def one_block(number: int, answers: int, order: int, epsilon: float) -> tuple[float, int]:
    """Each person is asked some of the questions, as one block with all of epsilon; and the best number of them."""

    def asked(k: int) -> float:
        return error(answers, order, lambda j: variance(answers, k, epsilon) * comb(number, j) / comb(k, j))

    sizes = [k for k in range(order, number + 1) if answers**k <= max(MOST_COMBINATIONS, answers**order)]
    return min((asked(k), k) for k in sizes)


# -- the picture -------------------------------------------------------------------------------------------------------

ARMS = ((0, 1, 2), (0, 3, 4), (1, 3, 5), (2, 4, 5))  # What each arm asks; every question is in two of them.
DRAWN = (0, 2, 1, 3, 1, 0, 3, 2, 2, 1, 0, 3)  # The arm of each person in the upper panel.


def draw_who_is_asked(axis: "plt.Axes") -> None:
    """People as columns, questions as rows; a person's block is coloured by their arm."""
    for person, arm in enumerate(DRAWN):
        colour, asked = (BLUE, ORANGE, GREEN, PURPLE)[arm], ARMS[arm]
        axis.plot([person, person], [min(asked), max(asked)], color=colour, lw=2.5, zorder=1)
        for question in range(6):
            inside = question in asked
            look = {"facecolor": colour if inside else SOFT, "zorder": 2 if inside else 0}
            axis.add_patch(plt.Rectangle((person - 0.36, question - 0.36), 0.72, 0.72, lw=0, **look))
    axis.set(xlim=(-0.6, len(DRAWN) - 0.4), ylim=(5.6, -0.6), xticks=[], yticks=range(6))
    axis.set_yticklabels([f"question {k + 1}" for k in range(6)])
    axis.set_xlabel("12 people; a colour for each arm")
    axis.set_title("Who is asked what: one block of three each", loc="left")
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_visible(False)


def draw_errors(axis: "plt.Axes") -> None:
    """The error of a table of two yes/no questions against how many questions there are."""
    lines = (  # what is drawn, and the height of its label
        ("everybody asked everything", 15, ORANGE, "-", [all_asked(d, 2, 2, EPSILON) for d in NUMBERS]),
        ("some asked, each apart", 3.6, SKY, "--", [some_apart(d, 2, 2, EPSILON) for d in NUMBERS]),
        ("some asked, as one block", 0.9, BLUE, "-", [one_block(d, 2, 2, EPSILON)[0] for d in NUMBERS]),
    )
    for label, height, colour, style, errors in lines:
        axis.plot(NUMBERS, errors, color=colour, ls=style, lw=3)
        axis.text(NUMBERS[-1] - 0.5, height, label, ha="right", va="center", weight="bold")
    axis.set(yscale="log", xlim=(NUMBERS[0], NUMBERS[-1]), xlabel="yes/no questions in the survey", ylim=(0.2, 150))
    axis.set_yticks([0.3, 1, 3, 10, 30, 100], ["0.3", "1", "3", "10", "30", "100"])
    axis.set_yticks([], minor=True)
    axis.set_title("Error of a table of two, in percentage points", loc="left")
    axis.grid(axis="y", color=SOFT)
    axis.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Draw both panels and write the file beside this script."""
    plt.rcParams.update({"font.size": 12.5, "axes.titlesize": 13.5, "axes.titleweight": "bold"})
    figure, (above, below) = plt.subplots(2, figsize=(6, 7.6), height_ratios=(1, 1.25), layout="constrained")
    figure.get_layout_engine().set(hspace=0.08)
    draw_who_is_asked(above)
    draw_errors(below)
    note = f"epsilon {EPSILON:g}; {PEOPLE:,} people"
    below.annotate(note, (0.03, 0.93), xycoords="axes fraction")
    figure.savefig(Path(__file__).with_name("designs.png"), dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    main()
