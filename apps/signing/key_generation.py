"""Generate and import keys in the registry's custody, on hosts of workers only (D12)."""

import re
import subprocess
from dataclasses import asdict
from pathlib import Path

import structlog
from django.conf import settings
from django.db import transaction

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.jobs.claims import Claim, Outage
from apps.lib.errors import Invalid
from apps.signing import armor, gnupg_home, keys, vault
from apps.signing.armor import ParsedKey
from apps.signing.gpg import KEY_GENERATION_SECONDS, TIMEOUT_SECONDS, Gpg, environment, program
from apps.signing.models import Custody, PrivateKey, SigningKey, State

JOB = keys.JOB
BAD_PASSPHRASE = 11  # GPG_ERR_BAD_PASSPHRASE of libgpg-error
GAVE_UP = "The worker failed to generate it; see its log. Request it again."

log = structlog.get_logger("larder.signing")

_RECIPES = {"ed25519": "Key-Type: eddsa\nKey-Curve: ed25519\n", "rsa4096": "Key-Type: RSA\nKey-Length: 4096\n"}
# No expiry date: old releases would warn from then on, and owners can retire a key at any time.
_RECIPE = "{kind}Key-Usage: sign\nName-Real: {name}\nExpire-Date: 0\n%no-protection\n%commit\n"


def run(claim: Claim) -> None:
    """Generate the requested key. Safe to repeat: a key that was not stored is gone with its home."""
    key = SigningKey.objects.select_related("namespace").get(pk=claim.target)
    if key.state != State.PENDING:
        return
    if claim.exhausted:
        with transaction.atomic():
            claim.guard()
            SigningKey.objects.filter(pk=key.pk, state=State.PENDING).update(reason=GAVE_UP)
        log.error("key_gave_up", key=key.pk, namespace=str(key.namespace))
        return
    try:
        parsed, secret = generate(key.algorithm, name=f"{key.namespace} at {settings.PUBLIC_HOST}")
        _store(claim, key, parsed, secret)
    except vault.SignerUnavailable as away:
        raise Outage(str(away)) from away


def generate(algorithm: str, *, name: str) -> tuple[ParsedKey, bytes]:
    """Return a new key: its public half, and the private half without a passphrase."""
    with gnupg_home.home(private=True) as home:
        gpg = Gpg(home, private=True, seconds=KEY_GENERATION_SECONDS, options=armor.MINIMAL)
        made = gpg.gen_key(_RECIPE.format(kind=_RECIPES[algorithm], name=name))
        secret = _private_half(gpg, str(made.fingerprint)) if made.fingerprint else b""
        if not secret:
            raise RuntimeError(f"gpg created no key: {made.status}")
        return armor.read_key(gpg), secret


def import_key(*, namespace: Namespace, material: bytes, passphrase: str, actor: Viewer) -> SigningKey:
    """Import a private key, or renew one in custody. The vault's seal replaces the passphrase.

    Raises Invalid, Conflict and SignerUnavailable.
    """
    with gnupg_home.home(private=True) as home:
        gpg = Gpg(home, private=True, options=armor.MINIMAL)
        imported = gpg.import_keys(material, passphrase=passphrase or None)
        if imported.sec_imported != 1 or len(set(imported.fingerprints)) != 1:
            raise _not_one_key()
        parsed = armor.read_key(gpg)
        # Merged with the stored public key like `armor.parse` with `known`, so that no subkey is lost.
        known = keys.namespace_keys(namespace).filter(fingerprint=parsed.fingerprint, custody=Custody.REGISTRY)
        for key in known:
            gpg.import_keys(key.armor)
            parsed = armor.read_key(gpg)
        if passphrase:
            _take_passphrase_off(home, parsed.fingerprint, passphrase)
        secret = _private_half(gpg, parsed.fingerprint)
        if not secret:
            raise _not_one_key()
    # Before the transaction: a key service may take seconds.
    data_key = vault.new_data_key(parsed.fingerprint)
    with transaction.atomic():
        try:
            key = keys.add_private(namespace=namespace, parsed=parsed, actor=actor)
        except keys.AlreadyRegistered as taken:
            if taken.known.custody != Custody.REGISTRY:
                raise
            key = taken.known
            keys.renew(key, parsed, actor)
            PrivateKey.objects.filter(key=key).delete()
        vault.seal(key, secret, data_key).save()
    return key


def _store(claim: Claim, key: SigningKey, parsed: ParsedKey, secret: bytes) -> None:
    key.fingerprint = parsed.fingerprint
    private = vault.seal(key, secret)
    with transaction.atomic():
        claim.guard()
        SigningKey.objects.filter(pk=key.pk, state=State.PENDING).update(
            state=State.ACTIVE, reason="", **asdict(parsed)
        )
        PrivateKey.objects.bulk_create([private])
        record(
            Kind.KEY_MADE,
            actor_id=None,
            subject=str(key.namespace),
            key=key.pk,
            fingerprint=parsed.fingerprint,
            algorithm=parsed.algorithm,
        )


def _not_one_key() -> Invalid:
    return Invalid(
        "The file does not contain exactly one private key for this passphrase.",
        hint="Export it with: gpg --export-secret-keys FINGERPRINT",
    )


def _private_half(gpg: Gpg, fingerprint: str) -> bytes:
    """Export the private key; empty if gpg cannot open it."""
    exported = gpg.export_keys(fingerprint, secret=True, armor=False, expect_passphrase=False)
    return exported if isinstance(exported, bytes) else exported.encode("latin-1")


def _take_passphrase_off(home: Path, fingerprint: str, passphrase: str) -> None:
    # python-gnupg has no call for it. gpg asks for the old passphrase, then for a new one (none) for each part.
    answers = f"{passphrase}\n" + "\n" * 8
    way = ["--no-options", "--no-tty", "--pinentry-mode", "loopback", "--command-fd", "0", "--status-fd", "1"]
    done = subprocess.run(  # noqa: S603  # a list; fingerprints and paths are ours
        [program("gpg"), "--homedir", str(home), *way, "--passwd", fingerprint],
        input=answers.encode(),
        env=environment(home),
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    gnupg_home.require_room(done.stderr.decode(errors="replace"))
    if done.returncode != 0:
        errors = re.findall(rb"^\[GNUPG:\] ERROR \S+ (\d+)", done.stdout, re.MULTILINE)
        # The upper half of the number names the part of GnuPG.
        if errors and int(errors[-1]) & 0xFFFF == BAD_PASSPHRASE:
            # GnuPG 2.4 notices it here; 2.2 already refused to import.
            raise _not_one_key()
        raise Invalid("gpg could not remove the passphrase.", hint="Remove it with gpg --passwd and try again.")
