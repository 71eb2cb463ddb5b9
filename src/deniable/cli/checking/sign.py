"""The commands `deniable sign` and `deniable verify`: a plan that devices know to be its owner's."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.options import add_command, add_force, check_new, public_in_link
from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.cli.options import Commands

# OPEN says what a link with public columns asks of whoever sends it.
OPEN = "sent as they are: tell respondents before they open it"


def add_sign(commands: "Commands") -> None:
    """Add `deniable sign`."""
    command = add_command(commands, "sign", "sign a plan, for devices that have pinned your key")
    command.add_argument("plan", metavar="PLAN.json", help="a plan, as `deniable plan` writes it")
    command.add_argument(
        "--key", required=True, metavar="KEY.pem", help="your private key for Ed25519, without a password"
    )
    command.add_argument(
        "-o", "--output", metavar="PLAN.sig", help="where to write the signature (default: beside the plan)"
    )
    add_force(command)
    command.set_defaults(run=_sign)


def add_verify(commands: "Commands") -> None:
    """Add `deniable verify`."""
    command = add_command(commands, "verify", "check that a plan is signed by a key")
    command.add_argument("plan", metavar="PLAN.json", help="a plan, as `deniable plan` writes it")
    command.add_argument(
        "--key", required=True, metavar="KEY", help="the public key that you trust, 64 hexadecimal digits"
    )
    command.add_argument("--signature", metavar="PLAN.sig", help="the signature (default: beside the plan)")
    command.set_defaults(run=_verify)


def _sign(arguments: argparse.Namespace) -> None:
    from deniable.collect.signatures import load_private_key, sign, signature_path
    from deniable.files import replacing
    from deniable.survey.plan import Plan
    from deniable.survey.privacy import public_in_quotes

    plan = Plan.load(arguments.plan)
    signed = sign(plan.fingerprint, load_private_key(arguments.key))
    path = arguments.output or str(signature_path(arguments.plan))
    check_new(path, force=arguments.force)
    with replacing(path) as made:
        made.write_text(signed.to_json(), encoding="utf-8")
    print(f"fingerprint  {plan.fingerprint}")
    print(f"public key   {signed.key}")
    print(f"in a link    #key={signed.key}&epsilon={_rounded_up(plan.epsilon)}{public_in_link(plan)}")
    print(f"Wrote {path}.", file=sys.stderr)
    if plan.public:
        print(f"NOT PROTECTED, and allowed by this link: {', '.join(public_in_quotes(plan))}; {OPEN}", file=sys.stderr)


def _verify(arguments: argparse.Namespace) -> None:
    from deniable.collect.signatures import Signature, signature_path, verify
    from deniable.survey.plan import Plan

    plan = Plan.load(arguments.plan)
    path = Path(arguments.signature or signature_path(arguments.plan))
    if not path.exists():
        raise DeniableError(f"{path}: no such file; the plan is not signed, or name its signature: --signature")
    verify(plan.fingerprint, Signature.load(path), arguments.key)
    print(f"{plan.fingerprint} is signed by {arguments.key}")


def _rounded_up(epsilon: float) -> str:
    """An epsilon in two decimals that is not below it."""
    shown = f"{epsilon:.2f}"
    return shown if float(shown) >= epsilon else f"{epsilon + 0.005:.2f}"
