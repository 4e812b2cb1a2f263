"""Remote service discovery: https://opentofu.org/docs/internals/remote-service-discovery/

Clients ask once per process, with their token if they have one, and treat anything but 200 as a hard error without a
retry (404: "no services"). So this answers 200 to everyone, reads no token and does not touch the database.
"""

from collections.abc import Collection
from typing import Any

from django.urls import path, reverse
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.identity import cli_login
from apps.protocol.base import ProtocolView

# Changes only with a new version of Larder.
MAX_AGE = 300


def discovery_document() -> dict[str, Any]:
    """Only services that exist. Addresses are relative (D22); those that clients append to end in `/`."""
    return {
        "login.v1": {
            "client": cli_login.CLIENT_ID,
            "grant_types": ["authz_code"],
            "authz": reverse("portal:login-authorize"),
            "token": reverse("protocol:login-token"),
            "ports": [cli_login.FIRST_PORT, cli_login.LAST_PORT],
        },
        "modules.v1": reverse("protocol:modules"),
        "providers.v1": reverse("protocol:providers"),
    }


class Discovery(ProtocolView):
    authentication_classes = []

    def get(self, request: Request) -> Response:  # noqa: ARG002
        return Response(discovery_document(), headers={"Cache-Control": f"public, max-age={MAX_AGE}"})

    def ready_scopes(self) -> Collection[str]:
        return ()


urlpatterns = [path(".well-known/terraform.json", Discovery.as_view(), name="discovery")]
