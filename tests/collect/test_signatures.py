"""Signed plans: what is signed, what is refused, in Python and in JavaScript, on the command line and over HTTP."""

import json
import subprocess
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main
from deniable.collect.signatures import Signature, message_of, sign, signature_beside, verify
from deniable.errors import PlanError
from spec import make_signatures
from spec.make_signatures import KEY, OTHER
from tests.support.collect.served import NEXT, PLAN, Served
from tests.support.javascript import WEB, node

CASES = json.loads(make_signatures.PATH.read_text(encoding="utf-8"))
REFUSED = {case["title"]: case for case in CASES["refused"]}
# A key on a curve that no version of `cryptography` knows; it was made for this test, and signs nothing.
SECP112R1 = "MD4CAQEEDhdmNRg+ggtUUBvsXoDeoAcGBSuBBAAGoSADHgAEbplIKpxqUlM6WHBAkHoxSJyZzUC4zTJJo5XYyg=="
MODULE = """
const { verify } = await import(process.argv[1]);
let text = "";
for await (const part of process.stdin.setEncoding("utf8")) text += part;
const found = [];
for (const { fingerprint, file, key } of JSON.parse(text)) {
  found.push(await verify(fingerprint, file, key).then(() => "signed", (error) => error.name));
}
console.log(JSON.stringify(found));
"""


# -- the format --------------------------------------------------------------------------------------------------------


def test_the_cases_are_what_their_program_writes() -> None:
    assert make_signatures.PATH.read_text(encoding="utf-8") == make_signatures.text()


@pytest.mark.parametrize("case", CASES["signed"], ids=lambda case: case["fingerprint"][:8])
def test_signed_plans_are_taken(case: dict[str, str]) -> None:
    verify(case["fingerprint"], Signature.from_json(case["file"]), CASES["public_key"])
    message = b"deniable signed plan 1 " + case["fingerprint"].encode()
    assert bytes.fromhex(case["message"]) == message == message_of(case["fingerprint"])
    KEY.public_key().verify(bytes.fromhex(json.loads(case["file"])["signature"]), message)


@pytest.mark.parametrize("title", REFUSED)
def test_what_is_not_signed_is_refused(title: str) -> None:
    case = REFUSED[title]
    with pytest.raises(PlanError):
        verify(case["fingerprint"], Signature.from_json(case["file"]), case["key"])


def test_javascript_takes_and_refuses_the_same() -> None:
    cases = [case | {"key": CASES["public_key"]} for case in CASES["signed"]] + CASES["refused"]
    found = json.loads(node(MODULE, (WEB / "signature.js").as_uri(), given=json.dumps(cases)))
    assert found == ["signed"] * len(CASES["signed"]) + ["SignatureError"] * len(CASES["refused"])


@pytest.mark.parametrize(
    ("crypto", "words"),
    [
        ("undefined", "no WebCrypto here"),
        ("{}", "no WebCrypto here"),
        (
            "{subtle: {importKey: async () => { throw new DOMException('no', 'NotSupportedError') }}}",
            "this browser cannot check signatures",
        ),
        ("{subtle: {importKey: async () => 1, verify: async () => false}}", "the plan is not signed by the key"),
    ],
)
def test_a_browser_that_cannot_check_refuses(crypto: str, words: str) -> None:
    case = CASES["signed"][0]
    script = f"Object.defineProperty(globalThis, 'crypto', {{value: {crypto}}});" + MODULE.replace(
        "error.name", "error.message"
    )
    given = json.dumps([case | {"key": CASES["public_key"]}])
    (found,) = json.loads(node(script, (WEB / "signature.js").as_uri(), given=given))
    assert found.startswith(words)


def test_types_name_what_the_module_exports() -> None:
    script = "console.log(Object.keys(await import(process.argv[1])).sort().join(' '))"
    assert node(script, (WEB / "signature.js").as_uri()).split() == ["SignatureError", "verify"]
    types = (WEB / "signature.d.ts").read_text(encoding="utf-8")
    assert "export class SignatureError" in types
    assert "export function verify" in types


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with plan.json and key.pem, as openssl makes it."""
    monkeypatch.chdir(tmp_path)
    PLAN.save("plan.json")
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", "key.pem"], check=True, capture_output=True)
    return tmp_path


def test_signing_and_verifying(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sign", "plan.json", "--key", "key.pem"]) == 0
    out, err = capsys.readouterr()
    facts = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert err == "Wrote plan.sig.\n"
    assert facts["fingerprint"] == PLAN.fingerprint
    key = facts["public"].split()[-1]
    assert facts["in"].split()[-1] == f"#key={key}&epsilon=4.00"
    assert "NOT PROTECTED" not in err
    assert main(["verify", "plan.json", "--key", key]) == 0
    assert capsys.readouterr().out == f"{PLAN.fingerprint} is signed by {key}\n"
    NEXT.save(folder / "plan.json")
    assert main(["verify", "plan.json", "--key", key]) == 1
    assert f"the plan {NEXT.fingerprint} is not signed by the key {key}" in capsys.readouterr().err
    assert main(["sign", "plan.json", "--key", "key.pem"]) == 1
    assert "plan.sig: exists already" in capsys.readouterr().err


def test_the_link_lists_public_columns_and_says_so_loudly(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = dn.Schema([dn.Flag("smoker"), dn.Flag("a&b, c", label="Are you in?"), dn.Flag("wave")])
    dn.Plan(schema, {"a&b, c": dn.Public(), "wave": dn.Public()}, epsilon=1.0).save(folder / "plan.json")
    assert main(["sign", "plan.json", "--key", "key.pem"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].endswith("&epsilon=1.00&public=a%26b%2C%20c,wave")
    assert 'NOT PROTECTED, and allowed by this link: "Are you in?" ("a&b, c"), "wave"; sent as they are' in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sign", "plan.json", "--key", "none.pem"], "none.pem: no such file; make a key with: openssl genpkey"),
        (["sign", "plan.json", "--key", "plan.json"], "plan.json: not a private key for Ed25519"),
        (["verify", "plan.json", "--key", "00" * 32], "plan.sig: no such file; the plan is not signed"),
        (["verify", "plan.json", "--key", "xyz", "--signature", "right.sig"], "a public key is 64 hexadecimal digits"),
        (["verify", "plan.json", "--key", "00" * 32, "--signature", "plan.json"], "a signature is JSON with key"),
        (["verify", "plan.json", "--key", "00" * 32, "--signature", "nested.sig"], "nested.sig: a signature is JSON"),
        (["sign", "plan.json", "--key", "curve.pem"], "curve.pem: not a private key for Ed25519"),
    ],
)
def test_errors_say_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    (folder / "right.sig").write_text(sign(PLAN.fingerprint, KEY).to_json())
    (folder / "nested.sig").write_text("[" * 200_000)
    (folder / "curve.pem").write_text(
        f"-----BEGIN {'EC PRIVATE KEY'}-----\n{SECP112R1}\n-----END {'EC PRIVATE KEY'}-----\n"
    )
    assert main(arguments) == 1
    assert words in capsys.readouterr().err


def test_the_ceiling_of_a_link_is_not_below_the_plans_epsilon(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.RandomizedResponse(p=0.25, q=0.75)})
    plan.save(folder / "plan.json")
    main(["sign", "plan.json", "--key", "key.pem"])
    most = float(capsys.readouterr().out.split("epsilon=")[1])
    assert plan.epsilon <= most < plan.epsilon + 0.011


# -- over HTTP ---------------------------------------------------------------------------------------------------------


def test_the_collector_gives_the_signature(tmp_path: Path) -> None:
    signed = sign(PLAN.fingerprint, KEY).to_json()
    plans = [PLAN.to_json(), NEXT.to_json()]
    with Served(tmp_path / "survey.db", plans, signatures={PLAN.fingerprint: signed}) as served:
        for path in ("/plan.sig", f"/plans/{PLAN.fingerprint}.sig"):
            assert served.http.get(path).text == signed
        assert served.http.get(f"/plans/{NEXT.fingerprint}.sig").status_code == 404
        assert served.http.get("/plans/none.sig").status_code == 404
        assert served.http.get("/signature.js").headers["content-type"].startswith("text/javascript")


def test_a_signature_beside_a_plan_must_be_of_this_plan(folder: Path) -> None:
    assert signature_beside("plan.json", PLAN.fingerprint) is None
    right = sign(PLAN.fingerprint, KEY)
    (folder / "plan.sig").write_text(right.to_json())
    assert signature_beside("plan.json", PLAN.fingerprint) == right
    for wrong in (sign(NEXT.fingerprint, KEY), Signature(right.key, sign(PLAN.fingerprint, OTHER).signature)):
        (folder / "plan.sig").write_text(wrong.to_json())
        with pytest.raises(PlanError, match="plan.sig: does not sign plan.json as it is now; sign it anew"):
            signature_beside("plan.json", PLAN.fingerprint)
