"""end-8: the tags of a repository; and the list of repositories, which Docker began and `oras repo ls` asks for."""

from django.urls import path, re_path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.artifacts.names import ProviderMirror, parse_name
from apps.lib.errors import CredentialsRequired
from apps.oci import mirrors, paging, repositories, tags
from apps.oci.base import OciView, ReadyInRepository


class TagList(ReadyInRepository, OciView):
    def get(self, request: Request, name: str) -> Response:
        address = parse_name(name)
        if isinstance(address, ProviderMirror):
            found = mirrors.tags(self.caller, address)
        else:
            repository = repositories.find(self.caller, address)
            found = tags.names(repository)
            if not found:
                repositories.require_there(repository)
        page, headers = paging.page_of(found, request.GET, f"/v2/{name}/tags/list")
        return Response({"name": name, "tags": page}, headers=headers)


class Catalog(OciView):
    """An anonymous token lists public repositories."""

    def get(self, request: Request) -> Response:
        if not self.caller.has_token:
            raise CredentialsRequired("Ask the token service for a token; an anonymous one lists public repositories.")
        page, headers = paging.page_of(repositories.visible_names(self.viewer), request.GET, "/v2/_catalog")
        return Response({"repositories": page}, headers=headers)


urlpatterns = [
    path("_catalog", Catalog.as_view(), name="catalog"),
    re_path(r"^(?P<name>.+)/tags/list\Z", TagList.as_view(), name="tags"),
]
