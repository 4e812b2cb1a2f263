"""The strength of Larder's knowledge about where a release comes from (D27)."""

from django.db import models

from apps.releases.origin.models import Origin, Way


class Strength(models.TextChoices):
    """Only the first is verified: a token or a session proves who has the secret, not where the bytes were made."""

    VERIFIED_CLAIMS = "verified-claims", "Claims of an id token that Larder verified"
    PERSON = "person", "A person who was signed in"
    TOKEN = "token", "An API token"
    OCI_PUSH = "oci-push", "A push over OCI"
    GIT = "git", "Larder fetched it from Git"
    REGISTRY = "registry", "Larder itself, such as its demo"
    NOT_RECORDED = "not-recorded", "Published before Larder recorded it"


_BY_WAY = {
    Way.PAGE: Strength.PERSON,
    Way.API: Strength.TOKEN,
    Way.OCI: Strength.OCI_PUSH,
    Way.COMMAND: Strength.REGISTRY,
    Way.GIT: Strength.GIT,
}


def strength_of(origin: Origin | None) -> Strength:
    if origin is None:
        return Strength.NOT_RECORDED
    return Strength.VERIFIED_CLAIMS if origin.is_verified else _BY_WAY[Way(origin.way)]
