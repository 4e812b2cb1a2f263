"""What makes an archive a module, decided on the listing of an archive that is already known to be harmless."""

from apps.lib.archives import Entry, Listing, Refusal
from apps.lib.errors import Reason

README_NAMES = ("readme.md", "readme.markdown", "readme")
MODULE_SUFFIXES = (".tf", ".tofu", ".tf.json", ".tofu.json")


def check(listing: Listing) -> None:
    """Raises Refusal where the archive installs as an empty module, or holds nothing."""
    files = [entry for entry in listing.entries if not entry.is_dir]
    if not files:
        raise Refusal([_empty()])
    if any("/" not in entry.name and entry.name.endswith(MODULE_SUFFIXES) for entry in files):
        return
    top = _single_top_folder(files)
    raise Refusal([_top_folder(top) if top else _no_module_file(files)])


def _single_top_folder(files: list[Entry]) -> str:
    tops = {entry.name.partition("/")[0] if "/" in entry.name else "" for entry in files}
    return tops.pop() if len(tops) == 1 else ""


def _empty() -> Reason:
    return Reason(
        code="empty",
        found="an archive without a single file",
        expected="the module's files, such as main.tf",
        mend="Zip the contents of the module's folder and upload that.",
    )


def _top_folder(top: str) -> Reason:
    return Reason(
        code="top-folder",
        file=f"{top}/",
        found=f"every file lies under one top folder, {top}/",
        expected="the module's files at the root of the archive",
        mend=f"Clients would install it as an empty module without a word: go into {top}/ and zip its contents "
        f"(cd {top} && zip -r ../module.zip .).",
    )


def _no_module_file(files: list[Entry]) -> Reason:
    shown = ", ".join(sorted(entry.name for entry in files)[:5])
    return Reason(
        code="no-module-file",
        found=f"no .tf or .tofu file at the root (there are: {shown})",
        expected="at least one file that ends in .tf, .tofu, .tf.json or .tofu.json at the root of the archive",
        mend="Zip the contents of the module's folder, so that main.tf is at the root.",
    )
