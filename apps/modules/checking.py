"""Read an upload in limited child processes, and decide which part of it is the module; repack it where needed.

`plan` works on the listing of an archive that passed the archive rules; `examine` and `check_package` do all of it.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from django.conf import settings

from apps.blobs import store
from apps.lib.archives import sandboxed
from apps.lib.archives.layouts import has_submodules, is_beside_module, is_module_file
from apps.lib.archives.links import Tree, View
from apps.lib.archives.sandboxed import Limits, Listing, Refusal
from apps.lib.digests import counted
from apps.lib.errors import Invalid, Reason, TooLarge
from apps.modules import folder_names, inspection, twins
from apps.modules.comparing.guard import BREAKING_CHANGE
from apps.modules.contents import extraction
from apps.modules.inspection import loading
from apps.modules.inspection.loading import UNLOADABLE, Fault
from apps.releases.lifecycle import quarantine
from apps.releases.publishing import staging
from apps.releases.publishing.pipeline import Questions

# Questions that a publisher confirms; `choose_folder` is answered with a folder.
STATE_FILE, PRIVATE_KEY, CHOOSE_FOLDER = "state_file", "private_key", "choose_folder"
CONFIRMABLE = frozenset({STATE_FILE, PRIVATE_KEY, UNLOADABLE, BREAKING_CHANGE})
MAX_NAMES = 100
FOLDERS_NAMED = 8
LIMIT_SETTING = "module_archive_max_bytes of LARDER_LIMITS"


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan by which an upload becomes the module's archive."""

    prefix: str  # the published folder with its slash, or "" for all
    only: tuple[str, ...]  # the folders below `prefix` that are published; none for all
    left_out: tuple[str, ...]  # members below `prefix` that a rule leaves out
    questions: tuple[Reason, ...]
    is_repacked: bool
    copies: Mapping[str, list[str]] = field(default_factory=dict)  # resolved links: see links.View
    doubtful: Mapping[str, Reason] = field(default_factory=dict)  # left out, but a module file may name it


def clean_confirmations(codes: Iterable[str]) -> list[str]:
    """Raises Invalid for an unknown code: a typing error must not pass for consent. Hyphens are underscores."""
    cleaned = sorted({code.strip().replace("-", "_") for code in codes if code.strip()})
    if unknown := [code for code in cleaned if code not in CONFIRMABLE]:
        known = ", ".join(sorted(CONFIRMABLE))
        raise Invalid(f"found the confirmation {unknown[0][:40]!r}, expected one of: {known}")
    return cleaned


def plan(
    listing: Listing,
    *,
    limits: Limits,
    notes: dict[str, Any],
    folder: str,
    confirmed: Collection[str] = (),
    interactive: bool = False,
    multiple_modules: bool = False,
) -> Plan:
    """Choose the part of the upload that is the module. Raises Refusal if the requested part is not a module.

    `notes` collects warnings for the publisher, also when this raises.
    """
    names = [entry.name for entry in listing.entries if not entry.is_dir]
    if not names:
        hint = "Pack the contents of the module's folder and upload that."
        raise Refusal([Reason("empty", "an archive without files", "the module's files, such as main.tf", hint)])
    layout = sandboxed.layout_of(names)
    notes |= {"form": listing.form, "top_folder": layout.top_folder, "folders": list(layout.folders)}
    if interactive and multiple_modules and not folder:
        notes["no_root"] = bool(layout.folders) and "" not in layout.folders
        return _asking(_choose(layout.folders, "several modules to publish from one archive"))
    tree = Tree(listing.entries, limits)
    only = folder_names.several(folder)
    prefix = _prefix(tree, folder, layout.top_folder)
    if prefix is None:
        raise Refusal([_no_such_folder(folder, layout.folders)])
    view = tree.below(prefix, only)
    left_out = tuple(name for name in layout.left_out if name.startswith(view.starts))
    doubles, named = twins.settle(sorted(set(view.names).difference(left_out)), prefix)
    copies = {member: [name for name in there if name not in doubles] for member, there in view.copies.items()}
    staying = set(view.names) - {*left_out, *doubles}
    at_root = (name.removeprefix(prefix) for name in staying)
    if only:
        notes |= {"no_root": True, "top_folder": prefix.removesuffix("/")}
        _require_modules(view, staying, prefix, layout.folders)
    elif not any("/" not in name and is_module_file(name) for name in at_root):
        has_parts = has_submodules(name.removeprefix(prefix) for name in staying)
        notes["no_root"] = has_parts or bool(layout.folders and not folder)
        is_chosen = CHOOSE_FOLDER in confirmed
        if interactive and layout.folders and not (notes["no_root"] and (folder or is_chosen)):
            return _asking(_choose(layout.folders, "no module file at its root"))
        if not (has_parts or (notes["no_root"] and is_chosen)):
            raise Refusal([_no_module_file(sorted(view.names), prefix, layout.folders)])
    is_repacked = bool(folder or prefix or left_out or doubles or view.followed or view.broken or listing.form != "zip")
    notes |= {
        "left_out": [name.removeprefix(prefix) for name in left_out[:MAX_NAMES]],
        "left_out_count": len(left_out),
        "repacked": is_repacked,
    }
    doubtful = named | _settle_links(view, prefix, notes)
    notes["warnings"] = [*(reason.as_dict() for reason in doubles.values()), *notes["warnings"]][:MAX_NAMES]
    state_files = [name for name in layout.state_files if name.startswith(view.starts)]
    keys = [name for key in listing.private_keys for name in (key, *view.copies.get(key, ())) if name in staying]
    questions = [
        *([_state_files(state_files)] if state_files and STATE_FILE not in confirmed else []),
        *([_private_keys(keys)] if keys and PRIVATE_KEY not in confirmed else []),
    ]
    return Plan(prefix, only, (*left_out, *doubles), tuple(questions), is_repacked, copies, doubtful)


def unloadable(faults: Collection[Fault], *, notes: dict[str, Any], confirmed: Collection[str] = ()) -> list[Reason]:
    """At most one question about the faults; the others are added to `notes` as warnings."""
    question = None if UNLOADABLE in confirmed else loading.question(faults)
    warnings = loading.warnings([one for one in faults if not (question and one.is_loaded)])
    notes["warnings"] = [*notes.get("warnings", []), *warnings][:MAX_NAMES]
    return [question] if question else []


def require_unchanged(plan: Plan, notes: Mapping[str, Any]) -> None:
    """Raises Refusal for a pushed package from which something would be left out or moved.

    It is served under the digest that its manifest names, so no answer of a publisher would help: this runs before any
    question.
    """
    if not plan.is_repacked:
        return
    if notes["form"] != "zip":
        found = f"an archive of the form {notes['form']}"
    elif notes["links"]:
        found = f"links: {_named(notes['links'], 5)}"
    elif twice := [one["file"] for one in notes["warnings"] if one["code"] == "duplicate_name"]:
        found = f"names that differ only in letter case: {_named(twice, 5)}"
    elif plan.prefix:
        found = f"all files in the folder {plan.prefix}"
    else:
        found = f"files that are never part of a module: {_named(notes['left_out'], 5)}"
    raise Refusal(
        [
            Reason(
                code="package_would_change",
                found=found,
                expected="a zip of only the module's files, with main.tf at its root: a package is served unchanged",
                hint="Zip the contents of the module's folder, without links, state and .git, and push that; or "
                "publish this archive in the browser or by the API, which repack it",
            )
        ]
    )


def _asking(question: Reason) -> Plan:
    return Plan("", (), (), (question,), is_repacked=False)


def _prefix(tree: Tree, folder: str, top_folder: str) -> str | None:
    """The start of the module: the folder as it is in the archive, or below a single folder at the top.

    Several folders begin at the root of the archive if they are named from there.
    """
    top = f"{top_folder}/" if top_folder else ""
    only = folder_names.several(folder)
    if not folder or only:
        return "" if only and all(tree.folder_at(path) is not None for path in only) else top
    for path in (folder, f"{top}{folder}"):
        if (start := tree.folder_at(path)) is not None:
            return f"{start}/" if start else ""
    return None


def _require_modules(view: View, names: Collection[str], prefix: str, folders: Collection[str]) -> None:
    """Raises Refusal for those of several folders that contain no module, at any depth."""
    reasons = []
    for start in view.starts:
        there = sorted(name for name in names if name.startswith(start))
        if not there:
            reasons.append(_no_such_folder(start.removeprefix(prefix).removesuffix("/"), folders))
        elif not any(is_module_file(name.rpartition("/")[2]) for name in there):
            reasons.append(_no_module_file(there, start, folders))
    if reasons:
        raise Refusal(reasons)


def refuse_named_links(plan: Plan, texts: Mapping[str, bytes]) -> None:
    """Raises Refusal if a module file names a path whose link was left out. `texts` are keyed by published name."""
    code = b"\n".join(
        text for name, text in texts.items() if is_module_file(name.rpartition("/")[2]) and not is_beside_module(name)
    )
    named = []
    for path, reason in plan.doubtful.items():
        # A part of the path occurs in a string as part of a path: `"${path.module}/part"` or `"part/`.
        parts = [re.escape(part.encode("utf-8")) for part in path.split("/")]
        if re.search(b"|".join(rb'/%s(?=["/$%%])|"%s/' % (part, part) for part in parts), code):
            named.append(reason)
    if named:
        raise Refusal(named)


def _settle_links(view: View, prefix: str, notes: dict[str, Any]) -> dict[str, Reason]:
    """Record followed and skipped links in `notes`; return the skipped ones that a module file may name.

    Raises Refusal for module files and submodules: a client would miss them.
    """
    reasons = {
        link.name.removeprefix(prefix): Reason(
            code="broken_link",
            file=link.name.removeprefix(prefix),
            found=link.found,
            expected="a link to a file or folder in the archive",
            hint="Replace the link with the file itself, or leave it out.",
        )
        for link in view.broken
    }
    maybe = {name: reason for name, reason in reasons.items() if not is_beside_module(name)}
    if needed := [reason for name, reason in maybe.items() if twins.is_loaded(name)]:
        raise Refusal(needed)
    notes |= {
        "links": [
            name.removeprefix(prefix) for name in [*view.followed, *(link.name for link in view.broken)][:MAX_NAMES]
        ],
        "links_count": len(view.followed),
        "warnings": [reason.as_dict() for reason in [*reasons.values()][:MAX_NAMES]],
    }
    return maybe


def _named(names: Iterable[str], most: int = FOLDERS_NAMED) -> str:
    listed = list(names)
    more = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {more} more" if more > 0 else "")


def _folders(folders: Iterable[str]) -> str:
    return _named(folder or "the root" for folder in folders)


def _no_such_folder(folder: str, folders: Collection[str]) -> Reason:
    there = f"modules are in: {_folders(folders)}" if folders else "none of its folders contains module files"
    return Reason(
        code="no_such_folder",
        file=f"{folder}/",
        found=f"no folder {folder} in the archive ({there})",
        expected="a folder that is in the archive",
        hint="Write the folder as in the archive.",
    )


def _no_module_file(names: list[str], prefix: str, folders: Collection[str]) -> Reason:
    where = f"in {prefix}" if prefix else "at the root"
    hint = "Pack the contents of the module's folder, so that main.tf is at the root."
    if folders:
        hint = (
            f"Publish one of the folders that contain modules ({_folders(folders)}): name it as the folder "
            "(?folder=…, also several times). Or publish all of it (?folder=*)."
        )
    return Reason(
        code="no_module_file",
        found=f"no .tf or .tofu file {where} (there are: {_named((name.removeprefix(prefix) for name in names), 5)})",
        expected="at least one file there that ends in .tf, .tofu, .tf.json or .tofu.json and begins with no dot",
        hint=hint,
    )


def _choose(folders: Collection[str], why: str) -> Reason:
    return Reason(
        code=CHOOSE_FOLDER,
        found=f"{why}; modules are in: {_folders(folders)}",
        expected="the folder of each module",
        hint="Choose one folder, or several as one version without a root. This upload can become more modules.",
    )


def _state_files(names: list[str]) -> Reason:
    return Reason(
        code=STATE_FILE,
        file=names[0],
        found=f"state in the archive: {_named(names, 5)}",
        expected="no state: it names real resources and often contains secrets in clear text",
        hint="Confirm to leave it out and publish the rest (in a script: ?confirm=state_file). Rotate the secrets: "
        "everyone with the archive has them.",
    )


def _private_keys(names: list[str]) -> Reason:
    return Reason(
        code=PRIVATE_KEY,
        file=names[0],
        found=f"private keys in the archive: {_named(names, 5)}",
        expected="no private keys: everyone who can read the module could use them",
        hint="Remove them and upload again; or confirm that they are intentional, as in a test (in a script: "
        "?confirm=private_key).",
    )


@dataclass(frozen=True, slots=True)
class Upload:
    """Bytes to examine, and their publisher's instructions. `staged_as` is where a repacked zip may be staged."""

    what: str  # for messages
    digest: str
    staged_as: str
    file_name: str = ""
    folder: str = ""  # as of Release
    confirmed: Sequence[str] = ()
    interactive: bool = False
    multiple_modules: bool = False
    is_package: bool = False  # pushed: served unchanged or not at all
    pages: str = ""  # the path of the version's pages, for which READMEs are rendered


@dataclass(slots=True)
class Examined:
    """The content to publish if the `questions` are answered. `archive_key`: the repacked zip, staged, or empty."""

    listing: sandboxed.Listing
    inspected: extraction.Inspected
    archive_key: str = ""
    questions: list[Reason] = field(default_factory=list)


def examine(staged: BinaryIO, upload: Upload, notes: dict[str, Any]) -> Examined:
    """Raises Refusal, and Questions if the publisher has yet to choose a part. `notes` are filled in any case."""
    with staging.refusing_only(staged, digest=upload.digest, what=upload.what):
        form = form_of(staged)
        listing = sandboxed.inspect(staged, limits(), wanted=extraction.WANTED, form=form, links=True)
    if listing.digest != upload.digest:
        # Storage returned other bytes than it received. Each attempt reads them again; five are enough.
        raise store.Damaged(f"The bytes of {upload.what} differ from those received.")
    part = plan(
        listing,
        limits=limits(),
        notes=notes,
        folder=upload.folder,
        confirmed=upload.confirmed,
        interactive=upload.interactive,
        multiple_modules=upload.multiple_modules,
    )
    if upload.is_package:
        require_unchanged(part, notes)
    # The publisher has yet to choose the part of the upload.
    if any(question.code == CHOOSE_FOLDER for question in part.questions):
        raise Questions(part.questions)
    key = upload.staged_as if part.is_repacked else ""
    if key:
        zipped = sandboxed.repack(
            staged, limits(), form=form, folder=part.prefix, only=part.only, leave_out=part.left_out, copies=part.copies
        )
        # A tarball compresses better than a zip, so the repacked archive may be too large even if the upload was not.
        limit = settings.MODULE_ARCHIVE_MAX_BYTES
        try:
            store.stage(key, counted(zipped, limit=limit, what="The module as a zip", setting=LIMIT_SETTING))
        except TooLarge as error:
            reason = Reason("too_large_as_zip", str(error), "a module that also fits as a zip", error.hint)
            raise sandboxed.Refusal([reason]) from None
        with store.open_staged(key) as repacked:
            listing = sandboxed.inspect(repacked, limits(), wanted=extraction.WANTED, form="zip")
        refuse_named_links(part, listing.texts)
    quarantine.refuse_quarantined({listing.digest: upload.file_name})
    inspected = extraction.inspect(listing, upload.pages, part.only)
    faults = unloadable(inspected.faults, notes=notes, confirmed=upload.confirmed)
    notes["warnings"] = [*notes["warnings"], *loading.plan_warnings(inspected.document)][:MAX_NAMES]
    return Examined(listing, inspected, key, [*part.questions, *faults])


def check_package(archive: BinaryIO) -> None:
    """Check a pushed package that becomes no release. Raises Refusal, also where a release would be asked about."""
    form = form_of(archive)
    listing = sandboxed.inspect(archive, limits(), wanted=inspection.WANTED, form=form, links=True)
    notes: dict[str, Any] = {}
    part = plan(listing, limits=limits(), notes=notes, folder="")
    require_unchanged(part, notes)
    quarantine.refuse_quarantined({listing.digest: ""})
    questions = [*part.questions, *unloadable(extraction.inspect(listing).faults, notes=notes)]
    if questions:
        raise sandboxed.Refusal(questions)


def limits() -> sandboxed.Limits:
    return sandboxed.Limits(
        packed_bytes=settings.MODULE_ARCHIVE_MAX_BYTES,
        unpacked_bytes=settings.MODULE_UNPACKED_MAX_BYTES,
        file_bytes=settings.MODULE_UNPACKED_MAX_BYTES,
        entries=settings.ARCHIVE_MAX_ENTRIES,
    )


def form_of(archive: BinaryIO) -> sandboxed.Form:
    head = archive.read(sandboxed.HEAD_BYTES)
    if (form := sandboxed.form_of(head)) is None:
        raise sandboxed.refuse_form(head)
    return form
