"""The address that an inviter enters: the mailed link proves it, the link that the inviter copies only suggests it."""

from django.core import signing

from apps.accounts.models import Invitation

SALT = "larder.invited-address"
SUGGESTED_SALT = "larder.suggested-address"
# Between the secret of the link and the proof. Neither has one, and addresses in logs are redacted beyond it.
SEPARATOR = "~"


def proof_of(invitation: Invitation, address: str) -> str:
    """Return what is written in a mail to the address alone. It ends with the invitation."""
    return _signed(invitation, address, SALT)


def suggestion_of(invitation: Invitation, address: str) -> str:
    """Return what the inviter's own link carries, so that the form for the new account has the address filled in."""
    return _signed(invitation, address, SUGGESTED_SALT)


def address_of(invitation: Invitation, proof: str) -> str:
    """Return the address that the proof is about, empty unless it was made for this invitation."""
    return _read(invitation, proof, SALT)


def suggested_address(invitation: Invitation, suggestion: str) -> str:
    """Return the address of the inviter's link, which proves nothing; empty unless it was made for this invitation."""
    return _read(invitation, suggestion, SUGGESTED_SALT)


def _signed(invitation: Invitation, address: str, salt: str) -> str:
    return signing.dumps([invitation.pk, address], salt=salt).replace(":", SEPARATOR)


def _read(invitation: Invitation, signed: str, salt: str) -> str:
    try:
        number, address = signing.loads(signed.replace(SEPARATOR, ":"), salt=salt)
    except (signing.BadSignature, ValueError, TypeError):
        return ""
    return str(address) if number == invitation.pk else ""
