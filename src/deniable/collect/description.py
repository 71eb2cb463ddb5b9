"""The collector's endpoints in the OpenAPI format, for tools that call or test them."""

from typing import Any

from deniable import __version__

Object = dict[str, Any]

ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
PLAN = {
    "name": "Deniable-Plan",
    "in": "header",
    "required": True,
    "description": "The fingerprint of the plan that the reports were made by.",
    "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
}
INVITATION = {
    "name": "Deniable-Invitation",
    "in": "header",
    "required": False,
    "description": "The invitation, where the survey needs one; it is used once.",
    "schema": {"type": "string"},
}
OF_PLAN = {
    "name": "plan",
    "in": "query",
    "required": False,
    "description": "The fingerprint of another plan than the current one.",
    "schema": {"type": "string"},
}


def _in_path(name: str, **schema: Any) -> Object:
    return {"name": name, "in": "path", "required": True, "schema": schema}


ID = _in_path("id", type="string", pattern="^[0-9a-f]{32}$")
BYTES = {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}


def _json(schema: Object) -> Object:
    return {"content": {"application/json": {"schema": schema}}}


def _body(**properties: Object) -> Object:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"required": True, **_json(schema)}


def _operation(summary: str, right: dict[int, str], wrong: dict[int, str], **more: Any) -> Object:
    """An operation: what it does, what is answered if all is well, and what if not."""
    answers = {str(status): {"description": text} for status, text in right.items()}
    refusals = {**wrong, 503: "too much to do; the header Retry-After says when to try again"}
    answers |= {str(status): {"description": text, **_json(ERROR)} for status, text in refusals.items()}
    return {"summary": summary, "responses": answers, **more}


def _analyst(summary: str, right: dict[int, str], wrong: dict[int, str] | None = None, **more: Any) -> Object:
    """An operation that needs an analyst's token."""
    return _operation(summary, right, {401: "no token, or not a known one", **(wrong or {})}, security=TOKEN, **more)


TOKEN: list[Object] = [{"token": []}]


def openapi() -> Object:
    """The description of all endpoints."""
    body = {400: "malformed", 408: "the body did not arrive", 413: "wrong length"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "deniable collector", "version": __version__},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/reports/{id}": {
                "put": _operation(
                    "Store a report",
                    {201: "stored now", 200: "stored already"},
                    {**body, 403: "not invited", 409: "another report has this id", 422: "another plan"},
                    parameters=[ID, PLAN, INVITATION],
                    requestBody=BYTES,
                ),
                "head": {
                    "summary": "Say whether a report is stored",
                    "parameters": [ID],
                    "responses": {
                        "204": {"description": "it is stored"},
                        "404": {"description": "it is not stored"},
                        "400": {"description": "no id"},
                        "503": {"description": "try again"},
                    },
                },
            },
            "/batches": {
                "post": _operation(
                    "Store many reports of one plan, each an id of 16 bytes and the report",
                    {200: "what became of them: new, same, conflicts, malformed"},
                    {**body, 403: "each report needs an invitation", 422: "another plan"},
                    parameters=[PLAN],
                    requestBody=BYTES,
                )
            },
            "/plan.json": {"get": _operation("The current plan", {200: "its JSON", 304: "as you have it"}, {})},
            "/plans/{fingerprint}.json": {
                "get": _operation(
                    "A plan of which reports are taken",
                    {200: "its JSON", 304: "as you have it"},
                    {404: "no such plan"},
                    parameters=[_in_path("fingerprint", type="string")],
                )
            },
            "/plan.sig": {
                "get": _operation("The signature of the current plan", {200: "JSON"}, {404: "it is not signed"})
            },
            "/plans/{fingerprint}.sig": {
                "get": _operation(
                    "The signature of a plan of which reports are taken",
                    {200: "JSON"},
                    {404: "no such plan, or it is not signed"},
                    parameters=[_in_path("fingerprint", type="string")],
                )
            },
            "/healthz": {"get": _operation("Whether reports are taken now", {200: "they are"}, {})},
            "/metrics": {"get": _operation("Totals since the start, for Prometheus", {200: "text"}, {})},
            **_of_analysts(body),
        },
    }


def _of_analysts(body: dict[int, str]) -> Object:
    """The endpoints that need a token."""
    number = {"type": "integer", "minimum": 1}
    return {
        "/counts": {
            "get": _analyst(
                "Counts so far",
                {200: "an .npz file"},
                {404: "no such plan", 409: "what is stored is damaged"},
                parameters=[OF_PLAN],
            )
        },
        "/page": {
            "get": _analyst(
                "The page about results so far",
                {200: "HTML"},
                {404: "no such plan", 409: "too few reports for a page"},
                parameters=[OF_PLAN],
            )
        },
        "/seal": {
            "post": _analyst(
                "Seal what has arrived so far",
                {200: "the numbers of the parts sealed now"},
                {409: "a part cannot be sealed"},
            )
        },
        "/export": {"get": _analyst("The sealed parts", {200: "a list of parts"})},
        "/export/{part}-{plan}.parquet": {
            "get": _analyst(
                "The reports of a plan in a sealed part",
                {200: "a Parquet file"},
                {404: "no such part"},
                parameters=[_in_path("part", **number), _in_path("plan", **number)],
            )
        },
        "/tokens": {
            "get": _analyst("The names of all tokens", {200: "a list of names"}),
            "post": _analyst(
                "Make a token",
                {201: "the token, shown this once"},
                {**body, 409: "there is one of this name"},
                requestBody=_body(name={"type": "string", "minLength": 1, "maxLength": 100}),
            ),
        },
        "/tokens/{name}": {
            "delete": _analyst(
                "Revoke a token",
                {204: "revoked"},
                {404: "no such token"},
                parameters=[_in_path("name", type="string")],
            )
        },
        "/invitations": {
            "get": _analyst("How many invitations were made and spent", {200: "numbers"}),
            "post": _analyst(
                "Make invitations",
                {201: "one in each line, shown this once"},
                body,
                requestBody=_body(count={"type": "integer", "minimum": 1, "maximum": 100_000}),
            ),
        },
    }
