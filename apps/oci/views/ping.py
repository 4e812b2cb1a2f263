"""end-1. Always a challenge without credentials: otherwise skopeo and crane never authenticate."""

from rest_framework.request import Request
from rest_framework.response import Response

from apps.lib.errors import CredentialsRequired
from apps.oci.base import OciView


class Ping(OciView):
    http_method_names = ["get", "head"]

    def get(self, request: Request) -> Response:  # noqa: ARG002
        if not self.caller.has_token:
            raise CredentialsRequired("Ask the token service for a token; an anonymous one reads public repositories.")
        return Response({})
