"""The rows of trusted publishers in the tables of the house tests (see tests/rooms.py)."""

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, TrustedPublisher, User
from apps.contrib.trusted import publishers

KIND = "trusted-publisher"


def connect(namespace: Namespace, owner: User, name: str) -> TrustedPublisher:
    rule = {"kind": "github", "repository": f"acme/{name}", "workflow": "release.yml", "environment": "production"}
    return publishers.create(namespace=namespace, actor=Viewer(owner), **rule)


CONNECTIONS = {KIND: connect}
CONNECTION_PAGES = {KIND: "/trusted-publishers"}
# Its name ends with the number of the rule.
CONNECTION_NAMES = ("trusted publisher GitHub Actions acme/vpc as acme:github-",)
PEOPLE_ONLY = {"contrib.trusted.publishers.create": "add trusted publishers"}
IDEMPOTENT_ELSEWHERE = {"post_trusted_publishing_token": "apps/contrib/trusted/tests"}
# It needs an issuer that signs: the tests of this room send it.
WITHOUT_EXAMPLE = {("api:trusted-publishing-token", "POST")}
LIMITED = {("api:trusted-publishing-token", "POST"): "api"}
