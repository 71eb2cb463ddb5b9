"""The collector: which plans it takes reports of, and the threads that store, seal and count them."""

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from deniable import client
from deniable.collect.access import hash_of, new_token
from deniable.collect.sealing import Results, new_tally
from deniable.collect.stores.store import Store
from deniable.collect.well_formed import ReportForm
from deniable.collect.writer import Writer
from deniable.errors import DeniableError
from deniable.survey.plan import Plan

FIRST_ANALYST = "analyst"  # The name of the token that a new store gets.
AT_ONCE = 4  # So many requests of analysts that may take long are answered at once; more wait for these.


@dataclass(frozen=True)
class Limits:
    """How much the collector takes at once."""

    waiting: int = 20_000  # reports that wait to be stored
    requests: int = 512  # requests under way; more are told to try again
    batch: int = 10_000  # reports of one batch
    body_seconds: float = 20.0  # for the body of a request to arrive


class Served(NamedTuple):
    """A plan of which reports are taken."""

    number: int  # in the store
    fingerprint: str
    text: str  # its JSON
    form: ReportForm
    step: int  # bytes of an id and a report


class Collector:
    """A store with its threads, and the plans of which reports are taken; the first one is the current one.

    Reports of other plans that the store holds stay there, and count, but no more of them are taken.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        texts: Sequence[str],
        *,
        invited: bool = False,
        limits: Limits = Limits(),
        signatures: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.invited, self.limits = invited, limits
        self.signatures = dict(signatures)  # texts of plan.sig, by the fingerprints of plans
        plans = [Plan.from_json(text) for text in texts]
        for plan in plans:
            new_tally(plan)  # what could not be counted later is refused now
        self.texts = [plan.to_json() for plan in plans]
        self.writer = Writer(open_store, most_waiting=limits.waiting)
        self.served: dict[str, Served] = {}
        self._plans: Mapping[int, Plan | None] = {}  # of a store, by their numbers; None if it cannot be used
        try:
            self._take(self.writer.opened())
        except BaseException:
            self.writer.stop()
            raise
        self.writer.reopened = self._take
        self.results = Results(self.writer.opened, self.plans)
        # Reports and receipts have other threads, and so never wait for whoever counts or waits for sealing.
        self.analysts = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="analysts")
        self.malformed = 0  # reports that were refused for what they are

    def _take(self, store: Store) -> None:
        """Have the plans stored, and read those that are stored already."""
        served = {}
        for text in self.texts:
            checked = client.read(text)
            number = store.add_plan(checked.fingerprint, text, checked.length)
            form = ReportForm.of(checked)
            served[checked.fingerprint] = Served(number, checked.fingerprint, text, form, 16 + form.size)
        self._plans = {}
        self._plans_in(store)
        self.served = served

    def _plans_in(self, store: Store) -> Mapping[int, Plan]:
        """The plans of a store that this version can read and count; each is looked at once."""
        known, texts = self._plans, store.plans()
        found = {number: known[number] if number in known else _usable(number, texts[number]) for number in texts}
        self._plans = found
        return {number: plan for number, plan in found.items() if plan is not None}

    @property
    def current(self) -> Served:
        """The plan that new respondents are asked by."""
        return next(iter(self.served.values()))

    def plans(self) -> Mapping[int, Plan]:
        """The plans that the store holds, by their numbers; also those that another process has brought meanwhile."""
        return self._plans_in(self.writer.opened())

    def number_of(self, fingerprint: str) -> int | None:
        """The number of a plan that the store holds."""
        return next((number for number, plan in self.plans().items() if plan.fingerprint == fingerprint), None)

    def start(self) -> None:
        """Start to store and to seal."""
        self.writer.start()
        self.results.start()

    def stop(self) -> None:
        """Store what waits, and end."""
        self.results.stop()
        self.analysts.shutdown(wait=False, cancel_futures=True)
        self.writer.stop()

    def first_token(self) -> str | None:
        """The token of a new store, which is shown once; None if there are tokens already.

        Of processes that start at one time, one gets it.
        """
        return None if self.writer.opened().analysts() else self.make_token(FIRST_ANALYST)

    def make_token(self, name: str) -> str | None:
        """A new token for an analyst of this name; None if there is one already."""
        token = new_token()
        return token if self.writer.opened().add_analyst(name, hash_of(token)) else None


def _usable(number: int, text: str) -> Plan | None:
    """A plan that a store holds, or None if this version cannot read or count it, as another one has brought it."""
    try:
        plan = Plan.from_json(text)
        new_tally(plan)
    except DeniableError as error:
        words = "plan %d of the store cannot be used by this version of deniable, and its reports are left alone: %s"
        logging.getLogger(__name__).warning(words, number, error)
        return None
    return plan
