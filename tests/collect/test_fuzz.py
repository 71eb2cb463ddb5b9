"""No input breaks the collector: made from its own description, and thrown at its decoder and its routes at random."""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error

from deniable.collect.app import ROUTES, application
from deniable.collect.collector import FIRST_ANALYST, Collector
from deniable.collect.description import openapi
from deniable.collect.endpoints import PLAN_HEADER
from deniable.collect.stores.sqlite_log import SqliteLog
from deniable.collect.well_formed import ReportForm
from tests.support.collect.served import PLAN, Served
from tests.support.random_plans import random_plan
from tests.support.situations import PLANS

CASES = int(os.environ.get("DENIABLE_CASES", "3000"))  # `make fuzz` asks for more
NO_HTTP = (400, b"Invalid HTTP request received.")  # what uvicorn answers before any route is looked at
OPERATIONS = [(method.upper(), path) for path, methods in openapi()["paths"].items() for method in methods]
OF_EACH = CASES // len(OPERATIONS) + 1 if "DENIABLE_CASES" in os.environ else 15  # requests by the description


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("fuzz") / "survey.db", [PLAN.to_json()]) as running:
        yield running


# -- what the description allows, and what it does not -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_answers_are_as_described(served: Served, method: str, path: str) -> None:
    """Every answer to requests made from the description has a status that it lists, and none is of 500.

    Half of them show an analyst's token and name a plan that is collected, which no request would by chance. What is no
    HTTP (a header with a control character, say) is refused by the server itself, whatever it asks for.
    """
    operation = schemathesis.openapi.from_dict(openapi())[path][method]
    statuses: Counter[int] = Counter()
    right = {"authorization": f"Bearer {served.token}", PLAN_HEADER: PLAN.fingerprint}
    is_known = st.integers(0, 49).map(lambda one: one == 0) if path == "/page" else st.booleans()  # a page takes long

    @settings(
        max_examples=OF_EACH,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of([operation.as_strategy(generation_mode=mode) for mode in GenerationMode]), known=is_known)
    def ask(case: Any, known: bool) -> None:
        if path == "/tokens/{name}":
            assume(case.path_parameters["name"] != FIRST_ANALYST)  # the token of this test
        if path == "/invitations" and isinstance(case.body, dict) and type(case.body.get("count")) is int:
            case.body["count"] = case.body["count"] % 200  # many take long
        headers = {name.lower(): value for name, value in (case.headers or {}).items()} | (right if known else {})
        answer = case.call(base_url=served.url, headers=headers)
        case.validate_response(answer, checks=[not_a_server_error])
        if (answer.status_code, answer.content) != NO_HTTP:
            statuses[answer.status_code] += 1
            sent = {name.lower(): value for name, value in answer.request.headers.items()}  # some are left out
            assert answer.status_code not in (401, 422) or not right.items() <= sent.items()

    ask()
    described = {int(status) for status in openapi()["paths"][path][method.lower()]["responses"]}
    print(f"{method} {path}: {dict(sorted(statuses.items()))}")
    assert set(statuses) <= described | {404, 405}


# -- bytes at random ---------------------------------------------------------------------------------------------------


def test_the_decoder_takes_any_bytes() -> None:
    rng = random.Random(1)
    forms = [ReportForm.of(plan.to_json()) for plan in PLANS.values()]
    forms += [ReportForm.of(random_plan(rng, most=10**6).to_json()) for _ in range(20)]
    found: Counter[str | None] = Counter()
    for _ in range(max(CASES, 20_000)):
        form = rng.choice(forms)
        size = rng.choice([form.size] * 6 + [0, 1, form.size + 1, rng.randrange(200)])
        report = rng.choice([rng.randbytes(size), bytes(size), b"\xff" * size])
        found[form.fault(report)] += 1
    print({fault or "taken": count for fault, count in found.items() if count > CASES // 200})
    assert found[None] > 100
    assert len(found) > 5


# -- requests at random, without a network between ---------------------------------------------------------------------

PIECES = [
    *(route.path for route in ROUTES), "/reports/" + "ab" * 16, "/reports/" + "AB" * 16, "/", "//", "/..", "%00",
    "ab" * 16, "/tokens/ä", "/export/1-1.parquet", "/export/99999999999999999999-1.parquet", "/plans/x.json", "\x00",
    "?plan=x",
]  # fmt: skip
NAMES = [b"deniable-plan", b"deniable-invitation", b"authorization", b"content-length", b"if-none-match", b"origin"]
VALUES = [
    PLAN.fingerprint.encode(), b"", b"0", b"-1", b"1", b"999999999999999999999999", b"\xff\xfe", b"Bearer ",
    b"Bearer x", b"\xc3\xa9", b"W/\"x\"", b"x" * 5000,
]  # fmt: skip
METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "TRACE", "X"]


async def ask(app: Any, rng: random.Random, token: bytes) -> int:
    """The status of the answer to one request at random, whose body comes in pieces or not at all."""
    path, _, query = "".join(rng.choices(PIECES, k=rng.choice([1, 1, 1, 2]))).partition("?")
    path = f"/reports/{rng.randbytes(16).hex()}" if rng.random() < 0.2 else path
    headers = [(rng.choice(NAMES), rng.choice(VALUES)) for _ in range(rng.randrange(4))]
    if rng.random() < 0.5:
        headers.append((b"deniable-plan", PLAN.fingerprint.encode()))
    if rng.random() < 0.5:
        headers.append((b"authorization", b"Bearer " + token))
    bodies = [rng.choice([b"", b"\0", rng.randbytes(17), b"{}", b'{"name":1}', rng.randbytes(rng.randrange(600))])]
    messages = [{"type": "http.request", "body": body, "more_body": True} for body in bodies * rng.randrange(3)]
    messages.append({"type": rng.choice(["http.request"] * 9 + ["http.disconnect"]), "body": b"", "more_body": False})
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http", "method": rng.choice(METHODS), "path": path, "raw_path": path.encode(), "headers": headers,
        "query_string": query.encode(), "http_version": "1.1", "scheme": "http", "server": ("x", 1), "client": None,
        "root_path": "", "asgi": {"version": "3.0"}, "state": {},
    }  # fmt: skip
    await app(scope, receive, send)
    (status,) = statuses
    return status


@pytest.mark.slow
def test_no_request_at_random_breaks_it(tmp_path: Path) -> None:
    collector = Collector(lambda: SqliteLog(tmp_path / "survey.db"), [PLAN.to_json()])
    token = (collector.first_token() or "").encode()
    app = application(collector)
    statuses: Counter[int] = Counter()

    async def run() -> None:
        rng = random.Random(2)
        async with app.router.lifespan_context(app):
            for _ in range(CASES):
                statuses[await ask(app, rng, token)] += 1

    asyncio.run(run())
    print(dict(sorted(statuses.items())))
    assert not [status for status in statuses if status >= 500 and status != 503]
    assert {200, 201, 400, 401, 404, 405, 413, 422} <= set(statuses)
    assert sum(statuses.values()) == CASES
