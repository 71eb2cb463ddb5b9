"""Write answers.csv as forms export it: gaps, capitals, several spellings of yes, lists in a cell. It is made up."""

import csv
import random
from pathlib import Path

rng = random.Random(19)


def gap(share: float, answer: object) -> object:
    """The answer, or with some probability one of the ways in which files say that there is none."""
    return rng.choice(["", "NA", "N/A"]) if rng.random() < share else answer


def person(number: int) -> list[object]:
    """One row. Below 45 more people smoke, and fewer watch television."""
    age = rng.randint(18, 90)
    smokes = rng.random() < (0.36 if age < 45 else 0.18)
    ticked = [("TV", 0.3 + age / 200), ("Radio", 0.4), ("Web", 1.1 - age / 100)]
    return [
        100_000 + number,
        gap(0.05, rng.choice(["Yes", "yes", "YES"] if smokes else ["No", "no"])),
        gap(0.03, age),
        gap(0.01, rng.choice(["Female", "Male"])),
        gap(0.10, rng.choices(["<20k", "20-50k", "50-100k", ">100k"], [3, 4, 2, 1])[0]),
        ";".join(name for name, share in ticked if rng.random() < share),
        rng.choice(["", "Fine.", "Too long!", "Thanks, bye", f"Call me at {rng.randint(10**6, 10**7)}"]),
    ]


with Path("answers.csv").open("w", newline="", encoding="utf-8") as file:
    rows = csv.writer(file)
    rows.writerow(["ID", "Smoker", "Age", "Sex", "Income", "News", "Comment"])
    rows.writerows(person(number) for number in range(12_000))
print(*Path("answers.csv").read_text(encoding="utf-8").splitlines()[:5], sep="\n")
