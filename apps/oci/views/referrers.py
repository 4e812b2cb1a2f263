"""end-12: what is attached to a manifest. Never 404: 200 with an empty index for a missing manifest."""

import json
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import re_path
from rest_framework.request import Request

from apps.artifacts import attachments
from apps.artifacts.names import Digest, ProviderMirror, parse_name
from apps.lib.formats.oci_manifests import IMAGE_INDEX
from apps.oci import mirrors, paging, repositories
from apps.oci.base import OciView, ReadyInRepository

FILTERED = "OCI-Filters-Applied"


class Referrers(ReadyInRepository, OciView):
    def get(self, request: Request, name: str, digest: str) -> HttpResponse:
        address, subject = parse_name(name), Digest.parse(digest)
        artifact_type = request.GET.get("artifactType", "")
        if isinstance(address, ProviderMirror):
            mirrors.namespace_of(self.caller, address)  # the gate: to what is made from releases nothing is attached
            page = attachments.Page()
        else:
            found = repositories.find(self.caller, address)
            last = request.GET.get("last", "")
            after = paging.number(last, "last is {}: follow the Link of the page before.") if last else 0
            path = found.address.path_name
            page = attachments.page_of(found.namespace, path, subject, artifact_type=artifact_type, after=after)
        body = json.dumps(attachments.index_of(page), ensure_ascii=False, separators=(",", ":")).encode()
        response = HttpResponse(body, content_type=IMAGE_INDEX)
        if artifact_type:
            response.headers[FILTERED] = "artifactType"
        if page.next_after:
            query = {"artifactType": artifact_type} if artifact_type else {}
            link = f"/v2/{name}/referrers/{subject}?{urlencode(query | {'last': page.next_after})}"
            response.headers["Link"] = f'<{link}>; rel="next"'
        return response


urlpatterns = [
    re_path(r"^(?P<name>.+)/referrers/(?P<digest>[^/]+)\Z", Referrers.as_view(), name="referrers"),
]
