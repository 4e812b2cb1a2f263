"""/mcp: POST for assistants, with an API token."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.urls import path
from rest_framework.request import Request

from apps.accounts.access import throttling
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_body, validated
from apps.contrib.assistants.sizes import fitted
from apps.contrib.assistants.tools import TOOLS
from apps.http.views import nothing_here
from apps.lib.errors import NotFound

# Of what the SDK reads. It gets no credentials.
_HEADERS = ("accept", "content-type", "origin", "mcp-")


class Assistants(ApiView):
    """A request of the Model Context Protocol. 404 unless LARDER_MCP is on."""

    http_method_names = ["post"]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if not settings.MCP:
            raise nothing_here()
        super().initial(request, *args, **kwargs)
        self.require_token()
        throttling.count(throttling.by_account("search", self.viewer.user_id, ""))

    def post(self, request: Request) -> HttpResponse:
        from apps.contrib.assistants import protocol  # its packages may be missing, and take a second to import

        found = protocol.answer(
            path=request.path,
            headers={name: value for name, value in request.headers.items() if name.lower().startswith(_HEADERS)},
            body=read_body(request),
            origin=settings.PUBLIC_URL,
            version=settings.VERSION,
            call=self.call,
        )
        return HttpResponse(found.body, status=found.status, content_type=found.headers.get("content-type", ""))

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """The answer of a tool, or the sentence of its refusal and True."""
        try:
            tool = TOOLS.get(name)
            if tool is None:
                raise NotFound(f"There is no tool {name[:80]!a}.", hint=f"Tools are: {', '.join(TOOLS)}.")
            return fitted(tool.answer(self.viewer, validated(tool.takes, arguments))), False
        except Exception as error:  # noqa: BLE001  # each becomes an answer, and `failure_of` logs defects
            return self.failure_of(error).sentence, True


app_name = "assistants"
urlpatterns = [path("mcp", Assistants.as_view(), name="mcp")]
