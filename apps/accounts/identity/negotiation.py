"""Content negotiation of the edges for machines: a leaf beside the token authentication, imported by edges only."""

from collections.abc import Iterable

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class IgnoreAccept(BaseContentNegotiation):
    """There is none: clients send no Accept, one for archives, or six header lines of it (skopeo). Bodies are read by
    the endpoints themselves, in steps, and none before the token and the rights are known (D2).
    """

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> None:
        """No parser."""

    def select_renderer(
        self,
        request: Request,  # noqa: ARG002
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,  # noqa: ARG002
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type
