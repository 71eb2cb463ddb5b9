"""What an analyst may ask of the collector with a token: counts, the page, sealing, export, and tokens for others."""

import asyncio
import datetime
import json
from collections.abc import Awaitable, Callable
from functools import partial
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from urllib.parse import parse_qs

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response

from deniable.collect.access import hash_of, name_fault, new_invitation, whose
from deniable.collect.answers import Refused, body_of, collector_of
from deniable.collect.collector import Collector
from deniable.collect.sealing import export
from deniable.errors import CollectError, DeniableError, ReportError
from deniable.text.fixed_phrases import how_many

Endpoint = Callable[[Request], Awaitable[Response]]
Found = TypeVar("Found")

MOST_INVITATIONS = 100_000  # At most so many invitations are made by one request.
SMALL_BODY = 1 << 12  # Bodies of an analyst's requests have at most so many bytes.
EPOCH = datetime.date(1970, 1, 1)
UNKNOWN = {"www-authenticate": "Bearer"}
SIGN_IN = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Results</title><link rel="icon" href="icon.svg">
<link rel="stylesheet" href="survey.css"><main><h1>Results</h1>%s
<form method="post"><p><label>The analyst's token:
<input name="token" type="password" autocomplete="off" required autofocus></label></p>
<p><button>Show results</button></p></form>
<p class="hint"><code>deniable serve</code> printed it once, at its first start;
<code>--new-token NAME</code> makes another.</p></main></html>
"""
NO_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Results</title><link rel="icon" href="icon.svg">
<link rel="stylesheet" href="survey.css"><main><h1>Results</h1><p role="alert">%s</p></main></html>
"""
WRONG_TOKEN = '<p class="wrong" role="alert">This is not the token of an analyst here.</p>'


def analyst(endpoint: Endpoint) -> Endpoint:
    """The same endpoint for those alone who show an analyst's token: `Authorization: Bearer TOKEN`."""

    async def checked(request: Request) -> Response:
        if not await known(collector_of(request), _token(request)):
            raise Refused(401, "this needs an analyst's token: Authorization: Bearer TOKEN", UNKNOWN)
        try:
            return await endpoint(request)
        except CollectError:  # which the next try may do without
            raise
        except DeniableError as error:
            raise Refused(409, str(error)) from None

    return checked


def _token(request: Request) -> str:
    """The token that a request's header shows, or none."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


async def known(collector: Collector, token: str) -> bool:
    """Whether this is the token of an analyst."""
    return whose(token, await asyncio.to_thread(collector.writer.opened().analysts)) is not None


async def _long(collector: Collector, work: Callable[[], Found]) -> Found:
    """The result of what may take long, or wait for sealing, in the threads that analysts have."""
    return await asyncio.get_running_loop().run_in_executor(collector.analysts, work)


# -- results -----------------------------------------------------------------------------------------------------------


async def _number(request: Request) -> int:
    """The number of the plan that `?plan=` names, or of the current one."""
    collector = collector_of(request)
    fingerprint = request.query_params.get("plan", collector.current.fingerprint)
    number = await asyncio.to_thread(collector.number_of, fingerprint)
    if number is None:
        raise Refused(404, "no reports of such a plan are stored here")
    return number


@analyst
async def counts(request: Request) -> Response:
    """The counts so far, in a file as `deniable count` writes them."""
    collector, number = collector_of(request), await _number(request)

    def save(path: Path) -> None:
        collector.results.counts(number).save(path)

    return await _file(collector, "counts.npz", save, "application/octet-stream")


async def page(request: Request) -> Response:
    """The page about results so far, for those who show a token, in the header or in the form that others get."""
    collector = collector_of(request)
    if request.method == "POST":
        body = await body_of(request, SMALL_BODY, collector.limits.body_seconds)
        token = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]
    else:
        token = _token(request)
    if not await known(collector, token.strip()):
        return HTMLResponse(SIGN_IN % (WRONG_TOKEN if token else ""), 401, UNKNOWN)
    try:
        return HTMLResponse(await _long(collector, partial(_page, collector, await _number(request))))
    except Refused as refused:
        if "text/html" not in request.headers.get("accept", ""):
            raise
        return HTMLResponse(NO_PAGE % escape(refused.reason), refused.status)


def _page(collector: Collector, number: int) -> str:
    from deniable.page.page import page as written

    try:
        return written(collector.results.counts(number), others=_others(collector, number))
    except DeniableError as error:
        others = [
            f"{how_many(n, 'report')} of ?plan={fingerprint}" for fingerprint, n in _others(collector, number).items()
        ]
        held = f"; the store holds {', '.join(others)}" if others else ""
        raise Refused(409, f"there is no page yet: {error}{held}") from None


def _others(collector: Collector, number: int) -> dict[str, int]:
    """How many reports of all other plans the store holds, by their fingerprints; a damaged store counts none."""
    plans = collector.plans()
    try:
        held = collector.results.held()
    except ReportError:  # which the counts tell of
        return {}
    return {plans[other].fingerprint: n for other, n in held.items() if other != number and other in plans}


async def _file(collector: Collector, name: str, save: Callable[[Path], Any], kind: str) -> Response:
    """A file that is made for this answer, and removed after it was sent."""
    folder = TemporaryDirectory()
    try:
        await _long(collector, partial(save, Path(folder.name) / name))
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(
        Path(folder.name) / name, media_type=kind, filename=name, background=BackgroundTask(folder.cleanup)
    )


# -- parts -------------------------------------------------------------------------------------------------------------


@analyst
async def seal(request: Request) -> Response:
    """Seal what has arrived so far, the open part with it, so that it can be exported."""
    collector = collector_of(request)
    sealed = await _long(collector, partial(collector.results.seal, everything=True))
    return JSONResponse({"sealed": sealed})


@analyst
async def parts(request: Request) -> Response:
    """The sealed parts, and where each is exported from."""
    collector = collector_of(request)
    store = collector.writer.opened()
    counts = await _long(collector, store.counts)  # first of all: what it names is there from then on
    plans = await asyncio.to_thread(collector.plans)
    days = {part.number: str(EPOCH + datetime.timedelta(part.day)) for part in await asyncio.to_thread(store.parts)}
    return JSONResponse(
        [
            {
                "part": one.part,
                "day": days[one.part],
                "plan": plans[one.plan].fingerprint,
                "reports": one.n,
                "url": f"/export/{one.part}-{one.plan}.parquet",
            }
            for one in counts
            if one.plan in plans
        ]
    )


@analyst
async def part(request: Request) -> Response:
    """The reports of a plan in a sealed part, as a Parquet file."""
    collector = collector_of(request)
    store = collector.writer.opened()
    number, plan = request.path_params["part"], request.path_params["plan"]
    sealed = {(one.part, one.plan) for one in await _long(collector, store.counts)}
    own = (await asyncio.to_thread(collector.plans)).get(plan)
    if (number, plan) not in sealed or own is None:
        raise Refused(404, "there is no such part that is sealed")

    def save(path: Path) -> None:
        export(store, number, plan, own, path)

    return await _file(collector, f"{number}-{plan}.parquet", save, "application/vnd.apache.parquet")


# -- who may do what ---------------------------------------------------------------------------------------------------


@analyst
async def tokens(request: Request) -> Response:
    """The names of all analysts' tokens; or a new token, which is shown this once."""
    collector = collector_of(request)
    if request.method == "GET":
        return JSONResponse(sorted(await asyncio.to_thread(collector.writer.opened().analysts)))
    name: Any = (await _json(request)).get("name")
    if fault := name_fault(name):
        raise Refused(400, fault)
    token = await asyncio.to_thread(collector.make_token, name)
    if token is None:
        raise Refused(409, "there is a token of this name already; revoke it first, or give another name")
    return JSONResponse({"name": name, "token": token}, 201)


@analyst
async def revoke(request: Request) -> Response:
    """Revoke an analyst's token, by its name."""
    store, name = collector_of(request).writer.opened(), request.path_params["name"]
    there = name in await asyncio.to_thread(store.analysts)  # a name may be no text of the store's database
    if not there or not await asyncio.to_thread(store.drop_analyst, name):
        raise Refused(404, "there is no token of this name")
    return Response(status_code=204)


@analyst
async def invitations(request: Request) -> Response:
    """How many invitations there are; or new ones, one in each line, which are shown this once."""
    store = collector_of(request).writer.opened()
    if request.method == "GET":
        made, spent = await asyncio.to_thread(store.invitations)
        return JSONResponse({"made": made, "spent": spent})
    count = (await _json(request)).get("count")
    if type(count) is not int or not 1 <= count <= MOST_INVITATIONS:
        raise Refused(400, f'say how many, from 1 to {MOST_INVITATIONS:,}: {{"count": 500}}')
    new = [new_invitation() for _ in range(count)]
    await asyncio.to_thread(store.add_invitations, [hash_of(one) for one in new])
    return PlainTextResponse("".join(f"{one}\n" for one in new), 201)


async def _json(request: Request) -> dict[str, Any]:
    """The JSON object in a small body."""
    body = await body_of(request, SMALL_BODY, collector_of(request).limits.body_seconds)
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused(400, "the body must be a JSON object")
    return found
