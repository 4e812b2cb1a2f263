"""A webhook of the shelf and one of the site, each with a delivery."""

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, User
from apps.contrib.webhooks.tests import scenario


def fill(namespace: Namespace, admin: User, _hostile: str) -> dict[str, int]:
    return scenario.placed(namespace, Viewer(admin), Viewer(admin))
