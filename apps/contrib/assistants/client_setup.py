"""The file that most assistants read for servers of the Model Context Protocol."""

import json

from django.conf import settings
from django.urls import reverse

from apps.snippets.client_setup import Snippet


def snippet() -> Snippet | None:
    """Return None unless LARDER_MCP is on."""
    if not settings.MCP:
        return None
    headers = {"Authorization": "Bearer ${LARDER_TOKEN}"}
    server = {"type": "http", "url": settings.PUBLIC_URL + reverse("assistants:mcp"), "headers": headers}
    return Snippet("Configuration of an assistant", json.dumps({"mcpServers": {"larder": server}}, indent=2))
