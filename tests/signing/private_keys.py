"""Private keys at rest, as tests ask for them: their row, whether they sign, and the command that seals them again."""

from io import StringIO

from django.core.management import CommandError, call_command

from apps.signing import signer, vault
from apps.signing.models import PrivateKey, SigningKey
from apps.signing.verifying import verify


def reseal(*options: str) -> str:
    out = StringIO()
    try:
        call_command("reseal_signing_keys", *options, stdout=out, stderr=out)
    except CommandError as error:
        return f"{out.getvalue()}{error}"
    finally:
        vault.unlock()  # the command locks this process behind it
    return out.getvalue()


def signs(key: SigningKey) -> bool:
    """With gpgv's word for it."""
    return verify(data=b"data", signature=signer.sign(key=key, data=b"data"), keys=[key]) == key


def row_of(key: SigningKey) -> PrivateKey:
    return PrivateKey.objects.select_related("key").get(key=key)
