"""The collector as a web application: its routes, and what holds for all of them.

Requests beyond a limit are told to try again before their bodies are read. Nothing that a request says of its sender is
kept or logged. Answers are not cached, unless they say so, and pages may load nothing but their own.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deniable.collect import analyst_endpoints as analysts
from deniable.collect import endpoints
from deniable.collect.answers import Refused, busy, handle
from deniable.collect.collector import Collector
from deniable.collect.description import openapi
from deniable.collect.writer import Busy
from deniable.errors import CollectError

ALWAYS = ("/healthz", "/metrics")  # These are answered however much there is to do.
KINDS = {
    "html": "text/html", "js": "text/javascript", "css": "text/css", "json": "application/json", "svg": "image/svg+xml",
}  # fmt: skip
NOTHING = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"
# What pages may load: of the survey page its own files, of the results' page what stands in it.
CONTENT = {
    "/": f"{NOTHING}; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'",
    "/page": f"{NOTHING}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; form-action 'self'",
}
HEADERS = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-store"}

ROUTES = (
    Route("/reports/{id}", endpoints.report, methods=["PUT", "HEAD"]),
    Route("/batches", endpoints.batch, methods=["POST"]),
    Route("/plan.json", endpoints.plan),
    Route("/plan.sig", endpoints.signature),
    Route("/plans/{fingerprint}.json", endpoints.plan),
    Route("/plans/{fingerprint}.sig", endpoints.signature),
    Route("/healthz", endpoints.health),
    Route("/metrics", endpoints.metrics),
    Route("/counts", analysts.counts),
    Route("/page", analysts.page, methods=["GET", "POST"]),
    Route("/seal", analysts.seal, methods=["POST"]),
    Route("/export", analysts.parts),
    Route("/export/{part:int}-{plan:int}.parquet", analysts.part),
    Route("/tokens", analysts.tokens, methods=["GET", "POST"]),
    Route("/tokens/{name:path}", analysts.revoke, methods=["DELETE"]),
    Route("/invitations", analysts.invitations, methods=["GET", "POST"]),
)


def application(collector: Collector, *, origins: Sequence[str] = ()) -> Starlette:
    """The web application of a collector. Pages from these origins may send reports to it, too."""

    @asynccontextmanager
    async def running(_app: Starlette) -> AsyncIterator[None]:
        collector.start()
        yield
        await asyncio.to_thread(collector.stop)

    async def described(_request: Request) -> Response:
        return JSONResponse(openapi())

    middleware = [Middleware(Guard, most=collector.limits.requests)]
    if origins:
        allowed = ["content-type", endpoints.PLAN_HEADER, endpoints.INVITATION_HEADER]
        middleware.insert(  # first, so that pages can read refusals as well
            0,
            Middleware(
                CORSMiddleware,
                allow_origins=list(origins),
                allow_methods=["GET", "HEAD", "PUT", "POST"],
                allow_headers=allowed,
                expose_headers=["retry-after", "etag"],
            ),
        )
    app = Starlette(
        routes=[*ROUTES, Route("/openapi.json", described), *_web_files()],
        middleware=middleware,
        lifespan=running,
        exception_handlers={
            Refused: handle, Busy: _busy, CollectError: _busy, HTTPException: _http, Exception: _failed,
        },
    )  # fmt: skip
    app.router.redirect_slashes = False
    app.state.collector = collector
    return app


async def _busy(_request: Request, _error: Exception) -> Response:
    return busy().response()


async def _http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return Refused(error.status_code, str(error.detail).lower(), dict(error.headers or {})).response()


async def _failed(_request: Request, _error: Exception) -> Response:
    return Refused(500, "this is a mistake of the collector").response()


def _web_files() -> list[Route]:
    """Routes to the files of the survey page, which is at `/`, and to the client that it runs."""
    page, client = (files("deniable.collect").joinpath(folder) for folder in ("survey_page", "web"))
    found = {f"/{file.name}": file for file in page.iterdir() if file.is_file()}
    found |= {f"/lang/{file.name}": file for file in page.joinpath("lang").iterdir()}
    own = ("deniable.js", "deniable.min.js", "signature.js", "promise.js")
    found |= {f"/{name}": client.joinpath(name) for name in own}
    found["/"] = found.pop("/index.html")
    kinds = {path: KINDS[file.name.rpartition(".")[2]] for path, file in found.items()}
    return [Route(path, _given(Response(found[path].read_bytes(), media_type=kind))) for path, kind in kinds.items()]


def _given(response: Response) -> Any:
    async def give(_request: Request) -> Response:
        return response

    return give


class Guard:
    """What stands before all routes: the limit of requests under way, and headers of all answers."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app, self.most, self.under_way = app, most, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        own = HEADERS | {"content-security-policy": CONTENT.get(scope["path"], NOTHING)}

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                more = [(k.encode(), v.encode()) for k, v in own.items() if k.encode() not in there]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        if self.under_way >= self.most and scope["path"] not in ALWAYS:
            await busy().response()(scope, receive, with_headers)
            return
        self.under_way += 1
        try:
            await self.app(scope, receive, with_headers)
        finally:
            self.under_way -= 1
