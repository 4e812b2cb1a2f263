"""Parse sources of module blocks and required providers that name a module or provider of this registry."""

from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from django.conf import settings

from apps.lib.addresses import ModuleAddress, ProviderAddress, hosted_provider
from apps.lib.errors import Invalid
from apps.lib.net.hostnames import is_one_of
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
    # Modules come from the public address, or from a further name with the same port.
    port = urlsplit(f"//{settings.PUBLIC_HOST}").port
    further = (f"{name}:{port}" if port else name for name in settings.HOSTNAMES)
    if not slash or not is_one_of(host, [settings.PUBLIC_HOST, *further]):
        return None
    try:
        return ModuleAddress.parse(path)
    except Invalid:
        return None


def provider_of(source: str) -> ProviderAddress | None:
    """The provider of `<our host>/ns/type`; mirrors know our further names without a port."""
    return hosted_provider(source, (settings.PUBLIC_HOST, *settings.HOSTNAMES))


def reference_of(source: str) -> Reference | None:
    """None for a registry source, which a version constraint selects."""
    if not source.startswith(OCI):
        return None
    query = parse_qs(source.partition("?")[2])
    return Reference(query.get("tag", [""])[0], query.get("digest", [""])[0])
