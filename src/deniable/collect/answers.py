"""What the collector answers: refusals in JSON with their reason, and bodies that are read up to a limit."""

import asyncio
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from deniable.collect.collector import Collector
from deniable.text.fixed_phrases import how_many

RETRY_SECONDS = 2  # Whoever is told to try again is told to wait so long.


class Refused(Exception):  # noqa: N818 - the server is well
    """Raised to refuse a request, with a status and a sentence."""

    def __init__(self, status: int, reason: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.headers = status, reason, headers

    def response(self) -> Response:
        """The answer to the request."""
        return JSONResponse({"error": self.reason}, self.status, self.headers)


def busy() -> Refused:
    """The refusal of what could be taken a little later."""
    return Refused(503, "too much to do: try again", {"retry-after": str(RETRY_SECONDS)})


def collector_of(request: Request) -> Collector:
    """The collector that a request is for."""
    collector: Collector = request.app.state.collector
    return collector


def _too_long(most: int) -> str:
    return f"at most {how_many(most, 'byte')} {'is' if most == 1 else 'are'} taken here"


async def body_of(request: Request, most: int, seconds: float) -> bytes:
    """The body of a request, of at most so many bytes."""
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or len(declared) > 12 or int(declared) > most:
        raise Refused(413, _too_long(most))
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise Refused(413, _too_long(most))
    except TimeoutError:
        raise Refused(408, f"the body did not arrive within {seconds:g} seconds", {"connection": "close"}) from None
    except ClientDisconnect:
        raise Refused(400, "the body did not arrive") from None
    return bytes(body)


async def handle(request: Any, error: Exception) -> Response:  # noqa: ARG001 - one contract
    """The answer to a request that was refused."""
    assert isinstance(error, Refused)
    return error.response()
