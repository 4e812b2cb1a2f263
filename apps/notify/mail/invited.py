"""The address to which an invitation was mailed: the mailed link proves it, the link that its inviter sees does not."""

from django.core import signing

from apps.accounts.models import Invitation

SALT = "larder.invited-address"
# Between the secret of the link and the proof. Neither has one, and addresses in logs are redacted beyond it.
SEPARATOR = "~"


def proof_of(invitation: Invitation, address: str) -> str:
    """Return what is written in a mail to the address alone. It ends with the invitation."""
    return signing.dumps([invitation.pk, address], salt=SALT).replace(":", SEPARATOR)


def address_of(invitation: Invitation, proof: str) -> str:
    """Return the address that the proof is about, empty unless it was made for this invitation."""
    try:
        number, address = signing.loads(proof.replace(SEPARATOR, ":"), salt=SALT)
    except (signing.BadSignature, ValueError, TypeError):
        return ""
    return str(address) if number == invitation.pk else ""
