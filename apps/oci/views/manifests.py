"""end-3, end-7, end-9: manifests by tag and by digest."""

import time
from dataclasses import replace
from functools import partial
from http import HTTPStatus

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import re_path
from django.utils.cache import get_conditional_response
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import slots, throttling
from apps.artifacts import manifests as manifest_rows
from apps.artifacts.names import Digest, ProviderMirror, parse_name
from apps.http.waits import WaitingView
from apps.jobs import waiting
from apps.lib import digests
from apps.lib.net.bodies import streamed
from apps.oci import attaching, hosted_mirrors, manifests, mirrors, publishing, pushing, repositories
from apps.oci.base import OciView, ReadyInRepository, warning
from apps.oci.pushing import Push
from apps.oci.served import Served
from apps.releases.publishing.quotas import require_bytes


# Large for a body that is gathered.
@streamed("PUT")
class Manifest(ReadyInRepository, WaitingView, OciView):
    slot_seconds = settings.OCI_PUBLISH_WAIT.total_seconds()

    def get(self, request: Request, name: str, reference: str) -> HttpResponseBase:
        """200, 304 or 412, with the warning of a deprecated release. Also serves HEAD."""
        address, is_get = parse_name(name), request.method == "GET"
        if isinstance(address, ProviderMirror) and mirrors.hosted(address) is not None:
            document = hosted_mirrors.document(self.caller, address, reference, self.asker(self.viewer))
            self.seconds = document.seconds
            served = Served(document.raw, document.digest, document.media_type)
        elif isinstance(address, ProviderMirror):
            served = mirrors.served(self.caller, address, reference)
        else:
            served = manifests.read(repositories.find(self.caller, address), reference, bytes_wanted=is_get)
        self.ready_until = served.until
        etag = f'"{served.digest}"'
        headers = {"Content-Type": served.media_type, "Content-Length": str(served.length), "ETag": etag}
        whole = HttpResponse(served.raw, headers=headers)
        response: HttpResponseBase = get_conditional_response(request, etag=etag, response=whole) or whole
        response.headers["Docker-Content-Digest"] = served.digest
        if served.warning:
            response.headers["Warning"] = warning(served.warning)
        is_sent = is_get and response.status_code == HTTPStatus.OK
        if is_sent and served.is_download and served.release is not None:
            self.count_download(served.release.pk)
        return response

    def put(self, request: Request, name: str, reference: str) -> Response:
        """201 once it is published. Where the server can wait for that, it calls this again with what was asked."""
        push: Push = self.resumed.resume if self.resumed else self._resolved(request, name, reference)
        if push.manifest is not None:
            viewer = push.caller.viewer
            also = partial(attaching.record, viewer, records=push.attached)
            manifest_rows.store(viewer, push.repository, push.manifest, require_room=require_bytes, also=also)
        try:
            authorise = partial(repositories.authorise_again, push.caller, push.repository)
            publishing.publish(push, authorise=authorise)
        except publishing.Undecided as undecided:
            if request.META.get(waiting.OFFERED) and time.monotonic() < push.until:
                release = undecided.release
                again = replace(push, manifest=None, release=release.pk)
                states = publishing.quiet_states(release)
                request.META[waiting.ASKED] = waiting.Waiting(
                    publishing.states_of, release.pk, states, push.until, again
                )
            raise
        except slots.NoSlot as busy:
            busy.resume = replace(push, manifest=None)
            raise
        response = Response(status=HTTPStatus.CREATED)
        response.headers["Location"] = f"/v2/{name}/manifests/{push.digest}"  # relative: right behind any proxy
        response.headers["Docker-Content-Digest"] = str(push.digest)
        if push.subject:  # without it, clients write the fallback tag themselves
            response.headers["OCI-Subject"] = push.subject
        if push.tags:
            response.headers["OCI-Tag"] = ", ".join(push.tags)
        if push.warning:
            response.headers["Warning"] = warning(push.warning)
        return response

    def get_authenticators(self) -> list[BaseAuthentication]:
        """A push that has waited keeps its caller, whose rights are looked up where they matter."""
        has_caller = waiting.ASKED in self.request.META and self.request.method == "PUT"
        return [] if has_caller else super().get_authenticators()

    def _resolved(self, request: Request, name: str, reference: str) -> Push:
        address = repositories.pushable(self.caller, name)
        wanted = Digest.parse(reference) if ":" in reference else reference
        repository = repositories.for_push(self.caller, address)
        # Clients repeat a manifest after 429, but no blob.
        throttling.count(throttling.by_account("publish", self.viewer.user_id, ""))
        body = digests.counted(
            self.body_for(repository, needs_length=True),
            limit=settings.OCI_MANIFEST_MAX_BYTES,
            what="the manifest",
            setting="oci_manifest_max_bytes of LARDER_LIMITS",
        )
        return pushing.resolve(
            self.caller,
            repository,
            wanted,
            raw=b"".join(body),
            content_type=request.META.get("CONTENT_TYPE", ""),
            tags=request.GET.getlist("tag"),
        )

    def delete(self, request: Request, name: str, reference: str) -> Response:  # noqa: ARG002
        found = repositories.for_delete(self.caller, repositories.pushable(self.caller, name))
        manifests.delete(self.caller, found, reference)
        return Response(status=202)


urlpatterns = [
    re_path(r"^(?P<name>.+)/manifests/(?P<reference>[^/]+)\Z", Manifest.as_view(), name="manifest"),
]
