"""Text that people paste: right for this host, this module and this version as it stands."""

from django.conf import settings
from django.urls import reverse

from apps.lib import versions
from apps.lib.addresses import ModuleAddress


def module_block(address: ModuleAddress, version: str) -> str:
    """The block for a configuration. A call needs a label of letters, digits, - and _; the module's name is one."""
    source = f"{settings.PUBLIC_HOST}/{address}"
    return f'module "{address.name}" {{\n  source  = "{source}"\n  version = "{version}"\n}}'


def credentials_block() -> str:
    """For the CLI configuration file: a host with a port cannot be written as a TF_TOKEN_ variable."""
    return f'credentials "{settings.PUBLIC_HOST}" {{\n  token = "lrd_…"\n}}'


def publish_command(address: ModuleAddress, latest: str) -> str:
    """One curl line that publishes the version after `latest`."""
    version = next_version(latest)
    path = reverse("api:module-release", args=[address.namespace, address.name, address.system, version])
    return (
        'curl --fail-with-body --header "Authorization: Bearer $LARDER_TOKEN" \\\n'
        f"  --upload-file {address.name}-{version}.zip \\\n"
        f"  {settings.PUBLIC_URL}{path}"
    )


def next_version(latest: str) -> str:
    """What probably comes next: 1.2.0 -> 1.3.0, and 2.0.0-rc.1 -> 2.0.0."""
    core, is_prerelease = latest.partition("+")[0].partition("-")[0], versions.parse(latest).is_prerelease
    major, minor, _ = core.split(".")
    return core if is_prerelease else f"{major}.{int(minor) + 1}.0"
