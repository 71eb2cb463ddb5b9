"""Mutation testing of the code that privacy and counts rest on: `make mutate`, or `python -m tests.mutation client`.

Of each group's mutants a random sample with a fixed seed is tried. A mutant is killed if a test fails, if a test file
cannot be imported, or if it takes much longer than without it; else it survives, and is printed.
"""

import argparse
import hashlib
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.covering import Covering
from tests.mutation.equivalent import EQUIVALENT
from tests.mutation.groups import GROUPS, HERE, ROOT, Group
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.running import ALONE, examples_without_shrinking, in_child, module_name, tested, warm

SEED = 20  # of the sample
LEAST_SECONDS = 8.0  # A mutant has at least this time of a processor, for an import and its first tests.
NOTES = HERE / ".pytest_cache" / "lines_of_tests"  # Which lines each test runs, by the digest of what was run.


def main() -> None:
    """Try the sample of some groups, and print the table and the survivors."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("groups", nargs="*", default=list(GROUPS), metavar="group", help=", ".join(GROUPS))
    parser.add_argument("--sample", type=int, default=100, help="mutants of a group (default 100)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--seconds", type=float, default=40.0, help="of a processor, for the tests of a mutant")
    parser.add_argument("--only", nargs="*", default=[], help="only mutants whose text holds one of these, of all")
    options = parser.parse_args()
    rows = [_group(name, GROUPS[name], options) for name in options.groups]
    print("\n| code | mutants | tried | killed | equivalent | survived |\n|---|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")


def _group(name: str, group: Group, options: argparse.Namespace) -> tuple[str, int, int, int, int, int]:
    every = [mutant for path in group.files for mutant in mutants(path)]
    _check_reasons(every, {path.name for path in group.files})
    only = [one for one in every if any(text in str(one) for text in options.only)]
    sample = only if options.only else _sample(every, options)
    notes = [_noted(path, group.files) for path in group.test_files]
    warm(sorted({module for note in notes for module in note["modules"]}))
    assert "deniable" not in sys.modules, "the package is imported anew for each mutant"
    seconds = {test: took for note in notes for test, took in note["seconds"].items()}
    some, _ = _within(sorted(seconds, key=seconds.__getitem__), seconds, options.seconds)
    control = in_child(lambda: tested("", None, some), LEAST_SECONDS + 3 * options.seconds)
    assert control == {"code": 0, "last": ""}, f"tests fail in a child without a fault: {control}"
    results = [_tried(mutant, notes, options.seconds) for mutant in sample]
    for mutant, how in zip(sample, results, strict=True):
        if how in ("survived", "equivalent"):
            print(f"{name}: {how}: {mutant}", flush=True)
    number = [results.count(how) for how in ("killed", "equivalent", "survived")]
    return (name, len(every), len(sample), *number)  # type: ignore[return-value]


def _check_reasons(every: Sequence[Mutant], files: set[str]) -> None:
    """Every fault that is said to give the same results must still be one: lines change."""
    lost = {key for key in EQUIVALENT if key[0] in files} - {_known_as(mutant) for mutant in every}
    assert not lost, f"tests/mutation/equivalent.py names faults that there are not: {lost}"


def _known_as(mutant: Mutant) -> tuple[str, str, str]:
    return mutant.path.name, mutant.source, mutant.what


def _sample(every: Sequence[Mutant], options: argparse.Namespace) -> list[Mutant]:
    chosen = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    return sorted(chosen, key=lambda one: (str(one.path), one.place, one.variant))


def _tried(mutant: Mutant, notes: Sequence[dict[str, Any]], most: float) -> str:
    tests, seconds = _chosen(mutant, notes, most)
    began = time.monotonic()
    work = lambda: tested(module_name(mutant.path, ROOT), mutant, tests)  # noqa: E731
    found = in_child(work, LEAST_SECONDS + 3 * seconds) if tests else {"code": 0, "last": "no test runs it"}
    how = "killed" if found is None or found["code"] not in (0, 5) else "survived"
    if how == "survived" and _known_as(mutant) in EQUIVALENT:
        how = "equivalent"
    last = found["last"] if found else "too slow"
    print(f"{how:9} {time.monotonic() - began:5.1f} s  {mutant}  {last}", file=sys.stderr, flush=True)
    return how


def _chosen(mutant: Mutant, notes: Sequence[dict[str, Any]], most: float) -> tuple[list[str], float]:
    """The tests that run a mutant's lines, as many as take so many seconds; of what runs at import, any tests."""
    lines = {(str(mutant.path), line) for line in range(mutant.line, mutant.last_line + 1)}
    seconds = {test: took for note in notes for test, took in note["seconds"].items()}
    ran = {test: {tuple(at) for at in lines} for note in notes for test, lines in note["lines"].items()}
    running = [test for test in ran if ran[test] & lines]
    costs = {test: (0.01 + seconds[test]) * (1 + len(ran[test])) for test in running or seconds}
    return _within(_by_turns(costs, f"test_{mutant.path.stem}.py"), seconds, most)


def _by_turns(costs: Mapping[str, float], own: str) -> list[str]:
    """Tests in the order in which they are likely to notice something soon.

    A test that is made for some lines is quick and runs few others, so that its cost, seconds times lines, is low;
    but a file of many such tests must not take all the time. So each file's tests have their turns, the cheapest
    first, and those of the file that has the module's name come before all others.
    """
    turns = Counter[str]()
    order: list[tuple[int, int, str]] = []
    for test in sorted(costs, key=costs.__getitem__):
        file = test.partition("::")[0]
        order.append((0 if Path(file).name == own else 1 + turns[file], len(order), test))
        turns[file] += 1
    return [test for _, _, test in sorted(order)]


def _within(tests: Iterable[str], seconds: Mapping[str, float], most: float) -> tuple[list[str], float]:
    """The tests that come first and take so many seconds together, but for any that is too long, and their sum."""
    chosen, total = [], 0.0
    for test in tests:
        if total + seconds[test] <= most:
            total += seconds[test]
            chosen.append(test)
    return chosen, total


def _noted(path: Path, files: Sequence[Path]) -> dict[str, Any]:
    """What the tests of a file run, which is noted once for the same sources."""
    every = sorted({file for group in GROUPS.values() for file in group.files})
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in (path, *every))).hexdigest()
    kept = NOTES / f"{path.stem}-{digest[:16]}.json"
    if not kept.exists():
        note = in_child(lambda: _covering(path, set(every)), 600) or {"failed": "too slow"}
        assert not note["failed"], f"{path}: tests fail without a fault, {note['failed']}"
        NOTES.mkdir(parents=True, exist_ok=True)
        half = kept.with_suffix(f".{os.getpid()}")  # another run may read it meanwhile
        half.write_text(json.dumps(note), encoding="utf-8")
        half.replace(kept)
    found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    own = {str(file) for file in files}
    found["lines"] = {test: [at for at in lines if at[0] in own] for test, lines in found["lines"].items()}
    return found


def _covering(path: Path, files: set[Path]) -> dict[str, Any]:
    examples_without_shrinking()
    covering = Covering(files)
    pytest.main([*ALONE, "-m", "not slow", str(path)], plugins=[covering])
    return covering.result()


if __name__ == "__main__":
    main()
