"""Remote service discovery: https://opentofu.org/docs/internals/remote-service-discovery/

Clients ask once per process, with their token where they have one, and take anything but 200 for a hard error without
a second try (404: "no services"). So this answers 200 to anybody, reads no token and touches no database.
"""

from django.urls import path, reverse
from rest_framework.request import Request
from rest_framework.response import Response

from apps.protocol.base import ProtocolView

# A document that says where the services are changes with a new version of Larder only.
MAX_AGE = 300


def discovery_document() -> dict[str, str]:
    """Only services that are really here. Values end in `/` (clients append to them) and are relative (D22)."""
    return {"modules.v1": reverse("protocol:modules"), "providers.v1": reverse("protocol:providers")}


class Discovery(ProtocolView):
    authentication_classes = []

    def get(self, request: Request) -> Response:  # noqa: ARG002
        return Response(discovery_document(), headers={"Cache-Control": f"public, max-age={MAX_AGE}"})


urlpatterns = [path(".well-known/terraform.json", Discovery.as_view(), name="discovery")]
