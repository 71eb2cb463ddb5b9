"""The planner: how long designs of many questions take, and what a plan will tell."""

import time

import deniable as dn
from benchmarks.harness import Row, medians, show


def flags(count: int) -> dn.Schema:
    """So many flags."""
    return dn.Schema(dn.Flag(f"q{k}") for k in range(count))


def mixed(count: int) -> dn.Schema:
    """Flags, and every third a choice of 3 to 7 answers."""
    return dn.Schema(
        dn.Flag(f"q{k}") if k % 3 else dn.Choice(f"q{k}", [f"v{j}" for j in range(3 + k // 3 % 5)])
        for k in range(count)
    )


def run() -> None:
    """Print the tables: seconds of one processor, against what is wanted and against a plan without designing."""
    designs = {
        "every pair of 16 flags, epsilon 2": (lambda: dn.design(flags(16), epsilon=2.0), 2.0),
        "every pair of 16 flags, epsilon 2, the worst": (lambda: dn.design(flags(16), epsilon=2.0, goal="worst"), 2.0),
        "every pair of 30 mixed questions, epsilon 2": (lambda: dn.design(mixed(30), epsilon=2.0), 20.0),
        "every pair of 50 flags, epsilon 2": (lambda: dn.design(flags(50), epsilon=2.0), 20.0),
        "every pair of 50 flags, epsilon 4": (lambda: dn.design(flags(50), epsilon=4.0), 20.0),
    }
    times = medians({what: make for what, (make, _) in designs.items()}, repeats=1)
    rows = [Row(what, times[what], "seconds wanted", seconds, 1.0) for what, (_, seconds) in designs.items()]
    show("Designs, one processor", rows)
    _expectations()


def _expectations() -> None:
    """What a plan with many arms tells of a table, against the estimate of that table from a survey."""
    schema = flags(16)
    plan = dn.design(schema, epsilon=2.0)
    answers = {name: [True, False] * 1_000 for name in schema.names}
    counts = dn.count(dn.randomize(answers, plan), order=2)
    times = medians(
        {
            "expect": lambda: plan.expect("q0", "q1", n=50_000).half_width,
            "needed": lambda: plan.needed("q0", "q1", half_width=0.02),
            "estimate": lambda: dn.estimate(counts, ["q0", "q1"]).table(),
            "split": lambda: dn.Plan(schema, epsilon=2.0).expect("q0", "q1", n=50_000).half_width,
        },
        clock=time.process_time,
    )
    against = f"the estimate, {len(plan.arms)} arms"
    show(
        "Expectations of one pair of 16 flags, one processor",
        [
            Row("expect, by the design", times["expect"], against, times["estimate"]),
            Row("people needed, by the design", times["needed"], against, times["estimate"]),
            Row("expect, everybody asked everything, its plan too", times["split"], against, times["estimate"]),
        ],
    )
