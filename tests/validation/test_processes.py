"""Settings measured on all processors."""

import os
import signal
from functools import partial

import pytest

from deniable.validation import interval_coverage
from deniable.validation.coverage_survey import Setting
from deniable.validation.processes import spread


@pytest.mark.slow
def test_all_processors_find_what_one_does_in_the_same_order() -> None:
    todo = [Setting(kind, 4.0, n, 1) for n in (1_000, 300) for kind in ("flags", "GRR")]
    work = partial(interval_coverage._measured, surveys=2)
    found = list(spread(work, todo, alone=False))
    assert found == list(spread(work, todo, alone=True))
    assert [setting for setting, _ in found] == todo


def test_no_settings_need_no_processes() -> None:
    assert list(spread(abs, [], alone=False)) == []


def _where(_: int) -> tuple[int, object]:
    return os.getpid(), signal.getsignal(signal.SIGINT)


@pytest.mark.slow
def test_alone_is_this_process_and_workers_leave_a_stop_to_it() -> None:
    assert {pid for pid, _ in spread(_where, [1, 2], alone=True)} == {os.getpid()}
    workers = list(spread(_where, [1, 2, 3], alone=False))
    assert os.getpid() not in {pid for pid, _ in workers}
    assert {handler for _, handler in workers} == {signal.SIG_IGN}
