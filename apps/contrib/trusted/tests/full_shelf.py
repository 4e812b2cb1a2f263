"""A rule on the shelf, whose fields say nasty things."""

from apps.accounts.models import Namespace, User
from apps.contrib.trusted import publishers
from tests.sessions import in_browser


def fill(namespace: Namespace, admin: User, hostile: str) -> dict[str, int]:
    rule = {
        "kind": "github",
        # Of GitHub it has an owner, and no more slashes and blanks.
        "repository": f"acme/{hostile.translate(str.maketrans('', '', '*/ '))}",
        "environment": hostile.replace("*", "+"),
        "workflow": "release.yml",
        "only_name": "network/aws",
    }
    return {"publisher": publishers.create(namespace=namespace, actor=in_browser(admin), **rule).pk}
