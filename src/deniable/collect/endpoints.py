"""What everybody may ask of the collector: take reports, give the plan, and say how it is."""

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from deniable.collect.access import hash_of
from deniable.collect.answers import Refused, body_of, collector_of
from deniable.collect.collector import Served
from deniable.collect.stores.store import ID_BYTES, Entry, Outcome
from deniable.text.fixed_phrases import how_many

STATUS = {Outcome.NEW: 201, Outcome.SAME: 200}
PLAN_HEADER = "deniable-plan"  # Requests name their plan's fingerprint in this header.
INVITATION_HEADER = "deniable-invitation"  # A report's invitation comes in this header.


def _id(request: Request) -> bytes:
    text = request.path_params["id"]
    try:
        id = bytes.fromhex(text) if len(text) == 2 * ID_BYTES else b""
    except ValueError:
        id = b""
    if len(id) != ID_BYTES:
        raise Refused(400, "an id is 32 hexadecimal digits")
    return id


def _plan(request: Request) -> Served:
    served = collector_of(request).served.get(request.headers.get(PLAN_HEADER, ""))
    if served is None:
        raise Refused(422, "the header Deniable-Plan must have the fingerprint of a plan that is collected here")
    return served


async def put_report(request: Request) -> Response:
    """Take one report: 201 if it is new, 200 if it is stored already."""
    collector = collector_of(request)
    id, plan = _id(request), _plan(request)
    size = plan.form.size
    body = await body_of(request, size, collector.limits.body_seconds)
    if len(body) != size:
        raise Refused(413, f"a report of this plan has {how_many(size, 'byte')}")
    fault = plan.form.fault(body)
    if fault is not None:
        collector.malformed += 1
        raise Refused(400, f"not a report of this plan: {fault}")
    invitation = hash_of(request.headers[INVITATION_HEADER]) if INVITATION_HEADER in request.headers else b""
    entry = Entry(id, plan.number, body, invitation if collector.invited else None)
    (outcome,) = await collector.writer.write([entry])
    match outcome:
        case Outcome.OTHER:
            raise Refused(409, "another report is stored by this id")
        case Outcome.UNINVITED:
            raise Refused(403, "this survey needs an invitation, which is used once; this one is unknown or used")
    return Response(status_code=STATUS[outcome])


async def head_report(request: Request) -> Response:
    """A respondent's receipt: 204 if a report is stored by this id."""
    id = _id(request)
    store = collector_of(request).writer.opened()
    return Response(status_code=204 if await asyncio.to_thread(store.holds, id) else 404)


async def report(request: Request) -> Response:
    """Take a report, or say whether it is stored."""
    return await (put_report(request) if request.method == "PUT" else head_report(request))


async def batch(request: Request) -> Response:
    """Take many reports of one plan; what can be stored is, whatever becomes of the others. Safe to repeat whole."""
    collector, plan = collector_of(request), _plan(request)
    if collector.invited:
        raise Refused(403, "this survey needs an invitation with each report; send them one by one")
    collector.writer.check_room(_declared(request) // plan.step)  # before its body is read and looked at
    body = await body_of(request, collector.limits.batch * plan.step, collector.limits.body_seconds)
    if len(body) % plan.step:
        raise Refused(400, f"each report takes {plan.step} bytes, its id and {plan.form.size} of the report")
    entries, malformed = await asyncio.to_thread(_entries, body, plan)
    collector.malformed += len(malformed)
    outcomes = await collector.writer.write(entries) if entries else []
    conflicts = [e.id.hex() for e, outcome in zip(entries, outcomes, strict=True) if outcome is Outcome.OTHER]
    found = {"new": outcomes.count(Outcome.NEW), "same": outcomes.count(Outcome.SAME)}
    return JSONResponse({**found, "conflicts": conflicts, "malformed": malformed})


def _declared(request: Request) -> int:
    """The length of the body that a request announces, or 0."""
    declared = request.headers.get("content-length", "0")
    return int(declared) if declared.isdecimal() and len(declared) < 12 else 0


def _entries(body: bytes, plan: Served) -> tuple[list[Entry], list[str]]:
    """The entries of a batch, and the ids of what can be no reports."""
    number, fault = plan.number, plan.form.fault
    entries, malformed = [], []
    for at in range(0, len(body), plan.step):
        middle = at + ID_BYTES
        report = body[middle : at + plan.step]
        if fault(report) is None:
            entries.append(Entry(body[at:middle], number, report))
        else:
            malformed.append(body[at:middle].hex())
    return entries, malformed


async def plan(request: Request) -> Response:
    """The current plan, or the one of a fingerprint, as JSON."""
    collector = collector_of(request)
    served = collector.served.get(request.path_params.get("fingerprint", collector.current.fingerprint))
    if served is None:
        raise Refused(404, "no such plan is collected here")
    headers = {"etag": f'"{served.fingerprint}"', "cache-control": "no-cache"}
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(served.text, media_type="application/json", headers=headers)


async def signature(request: Request) -> Response:
    """The signature of the current plan, or of the one of a fingerprint."""
    collector = collector_of(request)
    found = collector.signatures.get(request.path_params.get("fingerprint", collector.current.fingerprint))
    if found is None:
        raise Refused(404, "no signature of such a plan is here")
    return Response(found, media_type="application/json", headers={"cache-control": "no-cache"})


async def health(request: Request) -> Response:
    """Whether reports are taken now."""
    well = collector_of(request).writer.store is not None
    return PlainTextResponse("ok\n" if well else "the store has failed and is opened again\n", 200 if well else 503)


async def metrics(request: Request) -> Response:
    """Totals since the start, in the text format of Prometheus."""
    collector = collector_of(request)
    writer = collector.writer
    stored = await asyncio.to_thread(writer.store.total) if writer.store is not None else "NaN"
    rows = [
        *((f'deniable_reports_total{{outcome="{o.name.lower()}"}}', writer.outcomes[o]) for o in Outcome),
        ('deniable_reports_total{outcome="malformed"}', collector.malformed),
        ('deniable_reports_total{outcome="busy"}', writer.refused),
        ("deniable_commits_total", writer.commits),
        ("deniable_store_failures_total", writer.failures),
        ("deniable_reports_waiting", writer.size),
        ("deniable_reports_stored", stored),
    ]
    lines = [f"{name} {value}\n" for name, value in rows]
    return PlainTextResponse("".join(lines), media_type="text/plain; version=0.0.4")
