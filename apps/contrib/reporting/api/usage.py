"""POST /api/v1/usage: a pipeline reports which versions a configuration has installed."""

from typing import Any

from django.conf import settings
from django.urls import path
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, ChoiceField

from apps.api.frame.base import ApiView, operation
from apps.api.frame.bodies import Unreadable, parse_json, validated
from apps.api.frame.shapes import Shape
from apps.contrib.reporting import receiving
from apps.lib.digests import counted
from apps.lib.net.bodies import chunks
from apps.modules.models import ConfigurationUse
from apps.releases.models import Kind, Lifecycle

FORM = "multipart/form-data"


class UsageInput(serializers.Serializer[Any]):
    repository = serializers.CharField(max_length=1000, help_text="Its name or address, such as team/infrastructure.")
    folder = serializers.CharField(
        required=False, allow_blank=True, max_length=1000, help_text="Empty for the root of the repository."
    )
    modules = serializers.JSONField(
        required=False, allow_null=True, help_text="The content of .terraform/modules/modules.json."
    )
    lock = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        max_length=settings.JSON_MAX_BYTES,
        help_text="The text of the .terraform.lock.hcl file.",
    )


class InstalledVersion(Shape):
    kind = ChoiceField(choices=Kind.values, source="release.kind")
    address = CharField()
    version = CharField(source="release.version")
    lifecycle = ChoiceField(choices=Lifecycle.values, source="release.lifecycle")

    def address_of(self, use: ConfigurationUse) -> str:
        return f"{use.release.namespace.name}/{use.release.name}"


class ReportedUsage(Shape):
    versions = InstalledVersion(many=True, help_text="Those in this registry that the token can read.")


class Usage(ApiView):
    @operation(
        "Report what a configuration uses",
        takes=UsageInput,
        answers={200: ReportedUsage},
        scope="read",
        again="Replaces this account's previous report of the same configuration.",
        idempotent=True,
        limits=["publish"],
    )
    def post(self, request: Request) -> Response:
        """After init. Takes the same fields as multipart/form-data, with modules and lock as files.

        Whatever is not in this registry, or hidden from the token, is ignored.
        """
        self.count("publish")
        is_form = request.headers.get("Content-Type", "").lower().startswith(FORM)
        sent = validated(UsageInput, _form_of(request)) if is_form else self.body()
        uses = receiving.report(
            actor=self.viewer,
            repository=sent["repository"],
            folder=sent.get("folder", ""),
            modules=sent.get("modules"),
            lock=sent.get("lock", ""),
        )
        key = {one: (one.release.kind, one.release.namespace.name, one.release.name, one.pk) for one in uses}
        return self.answer({"versions": sorted(uses, key=key.__getitem__)})


def _form_of(request: Request) -> dict[str, Any]:
    """The fields of a small form, as `curl --form` sends it. Raises Unreadable, or TooLarge."""
    _, options = parse_options_header(request.headers.get("Content-Type", ""))
    pieces = counted(
        chunks(request.META), limit=settings.JSON_MAX_BYTES, what="The form", setting="json_max_bytes of LARDER_LIMITS"
    )
    fields: dict[str, bytearray] = {}
    try:
        with PushMultipartParser(options.get("boundary", ""), max_segment_count=len(UsageInput().fields)) as parser:
            for piece in pieces:
                for event in parser.parse(piece):
                    if isinstance(event, MultipartSegment):
                        value = fields[event.name] = bytearray()
                    elif event:
                        value += event
    except (MultipartError, ValueError) as error:
        raise Unreadable(
            f"The form cannot be read as {FORM}: {error}.", hint="Send it with `curl --form`, or send JSON."
        ) from None
    found: dict[str, Any] = {name: value.decode(errors="replace").replace("\0", "") for name, value in fields.items()}
    if "modules" in found:
        found["modules"] = parse_json(bytes(fields["modules"]))
    return found


urlpatterns = [path("usage", Usage.as_view(), name="usage")]
