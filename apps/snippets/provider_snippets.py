"""Text to copy about a provider version, with the right host."""

from collections.abc import Iterable

from apps.lib import versions
from apps.lib.addresses import ProviderAddress
from apps.snippets import client_setup
from apps.snippets.module_snippets import EXACT_HINT, Usage, compatible, range_hint


def usages(address: ProviderAddress, version: str) -> list[Usage]:
    """The block for exactly this version, and for compatible versions."""
    ways = [Usage("exact", "Exact", required_block(address, version), EXACT_HINT)]
    if not versions.parse(version).is_prerelease:  # ranges match no pre-release
        hint = f"{range_hint(version)} The lock file pins it until an upgrade."
        ways.append(Usage("range", "Range", required_block(address, compatible(version)), hint))
    return ways


def required_block(address: ProviderAddress, constraint: str) -> str:
    source = f"{client_setup.host()}/{address.source}"
    return (
        "terraform {\n  required_providers {\n"
        f'    {address.type} = {{\n      source  = "{source}"\n      version = "{constraint}"\n    }}\n'
        "  }\n}"
    )


def lock_block(address: ProviderAddress, version: str, *, h1: Iterable[str], zh: Iterable[str]) -> str:
    """For `.terraform.lock.hcl`, as the clients write it: hashes of all platforms, so that it works on all machines."""
    hashes = [*sorted(set(h1)), *sorted(set(zh))]
    lines = "".join(f'    "{one}",\n' for one in hashes)
    source = f"{client_setup.host()}/{address.source}"
    return (
        f'provider "{source}" {{\n  version     = "{version}"\n  constraints = "{version}"\n'
        f"  hashes = [\n{lines}  ]\n}}"
    )


def verify_commands(sums_name: str, key_id: str) -> list[tuple[str, str]]:
    """Commands to run beside the downloaded files, step by step."""
    return [
        ("Save the public key of its page as key.asc, import it, and compare the fingerprint", "gpg --import key.asc"),
        (f"Check that the key {key_id} signed the checksums", f"gpg --verify {sums_name}.sig {sums_name}"),
        (
            "Or check it without importing the key",
            f"gpg --dearmor < key.asc > key.gpg && gpgv --keyring ./key.gpg {sums_name}.sig {sums_name}",
        ),
        ("Check the zips in the same folder", f"sha256sum --check --ignore-missing {sums_name}"),
    ]
