"""Extract a version's page contents from its archive: README, inspection, files. Re-inspection repeats it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from apps.lib.addresses import ModuleAddress, canonical
from apps.lib.archives.layouts import is_module_file
from apps.lib.archives.sandboxed import Entry, Listing
from apps.lib.formats.licences import spdx_of
from apps.modules import inspection
from apps.modules.contents import changelog, readme, readmes
from apps.modules.dependents.sources import provider_of, target_of
from apps.modules.health import licence_file, measure
from apps.modules.inspection import README_NAMES, inspecting, loading, units
from apps.modules.inspection.loading import Fault
from apps.modules.models import ModuleCall, ModuleVersion, ProviderRequirement

# Files whose text `archives.inspect` returns; READMEs first, so that a flood of files leaves room for them.
WANTED = (*README_NAMES, *inspection.WANTED, *changelog.NAMES, "license*", "licence*", "copying*", "unlicense*")
# Files listed on the pages; the archive may contain more.
MAX_FILES = 2_000
# Users of the module do not install what these build on.
UNUSED = ("example", "other")


@dataclass(frozen=True, slots=True)
class Contents:
    """Columns of ModuleVersion, and the rows of the modules and providers of this registry that it builds on."""

    fields: dict[str, Any]
    calls: list[ModuleCall]
    requirements: list[ProviderRequirement]


@dataclass(frozen=True, slots=True)
class Inspected:
    """`document` is stored in ModuleVersion, without the READMEs; `was_read` is False if the reader gave up."""

    document: dict[str, Any]
    was_read: bool
    faults: list[Fault]
    readmes: readmes.Readmes


def inspect(listing: Listing, pages: str = "", chosen: Collection[str] = ()) -> Inspected:
    """The declarations of the module files, and the READMEs for the version's pages at that path: none if it is empty.
    `chosen` are its folders, if several were published as one version.

    Takes hundreds of milliseconds: never call it in a transaction.
    """
    sizes = {entry.name: entry.size for entry in listing.entries if not entry.is_dir}
    wanted = listing if pages else replace(listing, texts={})
    with readmes.rendering(wanted, (entry.name for entry in _shown(listing)), pages) as rendered:
        document = inspecting.inspect(listing.texts, sizes, chosen)
    was_read = not document.pop("failed", False)
    faults = loading.faults_in(document, [entry.name for entry in listing.entries])
    document.pop("faults", None)
    return Inspected(document, was_read, faults, rendered)


def read(listing: Listing, inspected: Inspected, *, address: ModuleAddress, version: str) -> Contents:
    """The contents for the pages. Slow: never call it in a transaction."""
    document = inspected.document
    document["file_count"] = sum(not entry.is_dir for entry in listing.entries)
    files = [
        {name: getattr(entry, name) for name in ("name", "size", "at", "packed", "method", "crc")}
        for entry in _shown(listing)
    ]
    shown = frozenset(file["name"] for file in files)
    prefix = readme.page_path(address, version)
    pages = inspected.readmes.pages
    for unit in document["units"]:
        unit["readme"], unit["summary"] = pages.get(unit["path"], ("", "")) if unit["path"] else ("", "")
    folders = {"", *(unit["path"] for unit in document["units"])}
    texts = {path: readme.text_of(source) for path, source in inspected.readmes.sources.items() if path in folders}
    html, summary = pages.get("", ("", ""))
    history = next((text for name, text in listing.texts.items() if name.lower() in changelog.NAMES), b"")
    document["changelog"] = changelog.render(history, version, prefix=prefix, files=shown) if history else ""
    licence = licence_file(listing.texts)
    document["licence"] = spdx_of(readme.text_of(listing.texts[licence])) if licence else ""
    health = measure(document, has_readme=bool(html), files=files)
    fields = {
        "readme_html": html,
        "readmes": texts,
        # Without a stamp it is outdated, so the next re-inspection reads it again.
        "readme_renderer": readme.RENDERER if inspected.readmes.was_rendered else "",
        "summary": summary,
        "inspection": document,
        "inspector": inspection.INSPECTOR if inspected.was_read else "",
        "files": files,
        "health": health.as_dict() if health else None,
    }
    units = [unit for unit in document["units"] if unit["kind"] not in UNUSED]
    return Contents(fields, list(_calls(units)), list(_requirements(units)))


def write(version: ModuleVersion, contents: Contents) -> None:
    """Update the row and replace the rows of what it builds on, in the caller's transaction."""
    for name, value in contents.fields.items():
        setattr(version, name, value)
    version.save()
    version.calls.all().delete()
    for call in contents.calls:
        call.version = version
    ModuleCall.objects.bulk_create(contents.calls)
    version.provider_requirements.all().delete()
    for requirement in contents.requirements:
        requirement.version = version
    ProviderRequirement.objects.bulk_create(contents.requirements)


def _shown(listing: Listing) -> list[Entry]:
    """The files that pages list, by name."""
    entries = sorted((entry for entry in listing.entries if not entry.is_dir), key=_importance)[:MAX_FILES]
    return sorted(entries, key=lambda entry: entry.name)


def _importance(entry: Entry) -> tuple[int, str]:
    """Files that pages link to come first: module files and READMEs, root and submodules before deeper folders."""
    folder, _, name = entry.name.rpartition("/")
    is_linked = is_module_file(name) or name.lower() in README_NAMES
    rank = 0 if is_linked and units.is_prominent(folder) else 1 if not folder else 2 if is_linked else 3
    return rank, entry.name


def _calls(units: list[dict[str, Any]]) -> Iterator[ModuleCall]:
    for unit in units:
        for call in unit["calls"]:
            target = target_of(call["source"])
            yield ModuleCall(
                unit=unit["path"][:300],
                name=call["name"][:200],
                source=call["source"][:500],
                constraint=call["version"][:200],
                target_namespace=target.namespace if target else "",
                target_name=target.name if target else "",
                target_system=target.system if target else "",
            )


def _requirements(units: list[dict[str, Any]]) -> Iterator[ProviderRequirement]:
    for unit in units:
        for row in unit["providers"]:
            if target := provider_of(row["source"]):
                yield ProviderRequirement(
                    unit=unit["path"][:300],
                    constraint=row["version"][:200],
                    target_namespace=canonical(target.namespace),
                    target_type=target.type,
                )
