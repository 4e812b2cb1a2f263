"""Upload limits for our scripts, which refuse before they read or send a byte (D23)."""

from apps.lib.packages import sandboxed
from apps.modules import checking
from apps.providers.drafting import drafts
from apps.releases.publishing import drafting


def for_modules() -> dict[str, int | str]:
    """For portal/publish/limits.html: each number with the setting named beside it."""
    limits = checking.limits()
    return {
        "max_bytes": limits.packed_bytes,
        "limit_setting": limits.packed_setting,
        "max_unpacked": limits.unpacked_bytes,
        "unpacked_setting": limits.unpacked_setting,
        "max_entries": limits.entries,
        "entries_setting": limits.entries_setting,
    }


def for_providers() -> dict[str, int | str]:
    """For portal/publish/provider_limits.html: limits of one file, and the platform names that clients know."""
    package, package_setting = drafts.limit_of("package")
    small, small_setting = drafts.limit_of("sums")
    docs, docs_setting = drafts.limit_of("docs")
    return {
        "docs": docs,
        "docs_setting": docs_setting,
        "package": package,
        "package_setting": package_setting,
        "small": small,
        "small_setting": small_setting,
        "files": drafting.MAX_FILES,
        "systems": " ".join(sandboxed.SYSTEMS),
        "architectures": " ".join(sandboxed.ARCHITECTURES),
    }
