"""What our script is told about the limits of an archive, so that it refuses before it reads or sends a byte (D23)."""

from apps.modules import publishing


def shown() -> dict[str, int | str]:
    """For portal/publish/limits.html: each number with the setting that is named beside it."""
    limits = publishing.limits()
    return {
        "max_bytes": limits.packed_bytes,
        "limit_setting": limits.packed_setting,
        "max_unpacked": limits.unpacked_bytes,
        "unpacked_setting": limits.unpacked_setting,
        "max_entries": limits.entries,
        "entries_setting": limits.entries_setting,
    }
