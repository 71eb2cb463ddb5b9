"""How much the time of one report tells of the answer: differences between answers, beside how much times scatter."""

import os
import statistics
import time
from typing import Any

import deniable as dn
from deniable import client

ROUNDS, CALLS = 60, 100
# Answers to one question, by what they are; a report of each is timed in turns.
QUESTIONS: dict[str, tuple[Any, dict[str, Any]]] = {
    "flag": (dn.Flag("x"), {"true": True, "false": False}),
    "choice of 8": (dn.Choice("x", list("abcdefgh")), {"first": "a", "last": "h"}),
    "choice of 8, skipped": (
        dn.Choice("x", list("abcdefgh"), missing="no answer"),
        {"first": "a", "none": None},
    ),
    "number ranges": (
        dn.Choice.bins("x", [0, 10, 20, 30, 40, 50, 60, 70, 1e9]),
        {"first": 1, "last": 70, "digits": 12.345678901, "large": 123456789.25},
    ),
    "number ranges, as text": (
        dn.Choice.bins("x", [0, 10, 20, 30, 40, 50, 60, 70, 1e9]),
        {"first": "1", "last": "70"},
    ),
}


def run() -> None:
    """Print the table."""
    print("\nTime of one report by its answer, nanoseconds of CPU time\n")
    print(f"  {'question':26} {'median':>8} {'largest difference':>20} {'scatter of one round':>22}")
    for title, (feature, answers) in QUESTIONS.items():
        times = _times(client.read(dn.Plan(dn.Schema([feature]), epsilon=1.0).to_json()), answers)
        medians = [statistics.median(own) for own in times.values()]
        scatter = statistics.median(statistics.stdev(own) for own in times.values())
        print(f"  {title:26} {statistics.median(medians):8,.0f} {max(medians) - min(medians):20,.0f} {scatter:22,.0f}")


def _times(plan: client.CheckedPlan, answers: dict[str, Any]) -> dict[str, list[float]]:
    """Nanoseconds of a report of each answer, round by round, in turns."""
    times: dict[str, list[float]] = {name: [] for name in answers}
    for _ in range(ROUNDS):
        for name, answer in answers.items():
            record = {"x": answer}
            start = time.process_time_ns()
            for _ in range(CALLS):
                client.report_from(os.urandom, record, plan)
            times[name].append((time.process_time_ns() - start) / CALLS)
    return times
