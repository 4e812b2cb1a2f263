"""Parse sources of module blocks that name a module of this registry."""

from dataclasses import dataclass
from urllib.parse import parse_qs

from django.conf import settings

from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Invalid
from apps.lib.hostnames import on_the_wire
from apps.modules.models import OCI


@dataclass(frozen=True, slots=True)
class Reference:
    """The tag or digest of an `oci://` source, at most one of them; neither means the tag `latest`."""

    tag: str = ""
    digest: str = ""


def target_of(source: str) -> ModuleAddress | None:
    """The module of `<our host>/ns/name/system` or `oci://<our host>/…?tag=…`, with or without `//folder`."""
    place = source.partition("?")[0].removeprefix(OCI) if source.startswith(OCI) else source
    host, slash, path = place.partition("//")[0].partition("/")
    if not slash:
        return None
    try:
        if on_the_wire(host) != on_the_wire(settings.PUBLIC_HOST):
            return None
        return ModuleAddress.parse(path)
    except Invalid:
        return None


def reference_of(source: str) -> Reference | None:
    """None for a registry source, which a version constraint selects."""
    if not source.startswith(OCI):
        return None
    query = parse_qs(source.partition("?")[2])
    return Reference(query.get("tag", [""])[0], query.get("digest", [""])[0])
