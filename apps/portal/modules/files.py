"""The source browser: folders and files of one version, read from its stored archive, and each file raw.

Nothing here is cached for others: every request passes the gate. Quarantined versions are not found.
"""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.html import format_html_join
from django.utils.http import content_disposition_header
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from apps.accounts.identity.sessions import session_viewer
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import NotFound, TooLarge
from apps.lib.text.highlighting import highlighted, language_of
from apps.modules.comparing import versions
from apps.modules.contents import files
from apps.modules.models import ModuleVersion
from apps.portal.modules.frame import MODULES, where
from apps.portal.versions.listing import context_of
from apps.portal.versions.pages import Opened
from apps.releases.lifecycle import quarantine

MAX_RAW_BYTES = 8 * 1024 * 1024
LISTED = 500
# Untrusted files on our origin: they may load and run nothing, and browsers must not guess their type.
RAW_HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
# Text that browsers would render or run: shown on the file's page, raw only as a download.
ACTIVE = (
    ".svg",
    ".svgz",
    ".htm",
    ".html",
    ".xht",
    ".xhtml",
    ".xml",
    ".xsl",
    ".xslt",
    ".mht",
    ".mhtml",
    ".js",
    ".mjs",
    ".pdf",
)


@login_not_required
@require_safe
def module_files(request: HttpRequest, *, version: str, **names: str) -> HttpResponse:
    return _folder(request, _opened(request, version, names), "")


@login_not_required
@require_safe
def module_file(request: HttpRequest, *, version: str, path: str, **names: str) -> HttpResponse:
    opened = _opened(request, version, names)
    entry = files.entry_at(opened.shown, path)
    if entry is None:
        return _folder(request, opened, path.rstrip("/"))
    context = _context(opened, path) | {"entry": entry} | _contents(opened.shown, entry)
    return render(request, "portal/module/file.html", context)


@login_not_required
@require_safe
def module_raw(request: HttpRequest, *, version: str, path: str, **names: str) -> HttpResponse:
    """Text as plain text, images as images, and anything else as a download."""
    data = files.read_file(_opened(request, version, names).shown, path, most=MAX_RAW_BYTES + 1)
    if len(data) > MAX_RAW_BYTES:
        raise TooLarge(
            f"{path!r} is larger than the {MAX_RAW_BYTES // 2**20} MiB that Larder shows of a file.",
            hint="Download the version's archive, which contains the whole file.",
        )
    kind = files.image_type(data)
    if not kind and not path.lower().endswith(ACTIVE) and files.text_of(data, is_cut=False) is not None:
        kind = "text/plain; charset=utf-8"
    file_name = path.rpartition("/")[2]
    disposition = content_disposition_header(as_attachment=not kind, filename=file_name) or "inline"
    headers = RAW_HEADERS | {"Content-Disposition": disposition}
    return HttpResponse(data, content_type=kind or "application/octet-stream", headers=headers)


@login_not_required
@require_safe
def module_compare_files(request: HttpRequest, namespace: str, name: str, system: str, numbers: str) -> HttpResponse:
    """The files of two versions line by line, apart from the comparison itself, which needs no storage."""
    found = versions.compare(session_viewer(request), ModuleAddress(namespace, name, system), numbers)
    for version in found.versions:
        quarantine.refuse_blocked(version.release)
    context = context_of(found) | {"texts": versions.differences(found), "numbers": numbers}
    return render(request, "portal/module/compare_files.html", context)


def _opened(request: HttpRequest, version: str, names: Mapping[str, str]) -> Opened:
    opened = MODULES.open(request, version, names)
    quarantine.refuse_blocked(opened.shown.release)
    return opened


def _folder(request: HttpRequest, opened: Opened, path: str) -> HttpResponse:
    folder = files.folder_of(files.entries_of(opened.shown), path)
    if folder is None:
        raise NotFound(f"{opened.shown} has no file {path!r}.", hint="Browse the files of the version.")
    context = _context(opened, path)
    prefix = f"{path}/" if path else ""
    context["folders"] = [(name, f"{prefix}{name}", count) for name, count in folder.folders[:LISTED]]
    context |= {"entries": folder.files[:LISTED], "entry_count": len(folder.files), "folder_count": len(folder.folders)}
    return render(request, "portal/module/files.html", context)


def _context(opened: Opened, path: str) -> dict[str, Any]:
    context = MODULES.frame(opened, "files")
    parts = path.split("/") if path else []
    context["path"] = path
    if path:
        args = [*where(context["address"], opened.shown.release.version), path]
        context["raw_path"] = reverse("portal:module-raw", args=args)
    context["trail"] = [("/".join(parts[: position + 1]), part) for position, part in enumerate(parts)]
    return context


def _contents(shown: ModuleVersion, entry: files.Entry) -> dict[str, Any]:
    """A file's lines, a picture, or the reason for neither."""
    if entry.at is None:
        return {"is_unindexed": True}
    data = files.read_file(shown, entry.name)
    if files.image_type(data):
        return {"is_picture": True}
    is_cut = entry.size > len(data)
    text = files.text_of(data, is_cut=is_cut)
    if text is None:
        return {"is_binary": True}
    lines = highlighted(text.replace("\r\n", "\n"), language_of(entry.name))
    # Each line with its anchor. The style sheet draws the number, so that copying takes the text alone.
    numbered = ((number, number, number, mark_safe(line)) for number, line in enumerate(lines, 1))  # noqa: S308  # escaped by highlighted()
    return {
        "source": format_html_join(
            "",
            '<span class="source__line" id="L{}"><a class="source__number" href="#L{}" data-line="{}" tabindex="-1" '
            'aria-hidden="true"></a>{}\n</span>',
            numbered,
        ),
        "line_count": len(lines),
        "is_cut": is_cut,
        "shown_bytes": len(data),
    }


_VERSION = f"{MODULES.path}/<str:version>"

urlpatterns = [
    path(f"{MODULES.path}/compare/<str:numbers>/files", module_compare_files, name="module-compare-files"),
    path(f"{_VERSION}/files", module_files, name="module-files"),
    path(f"{_VERSION}/files/<path:path>", module_file, name="module-file"),
    path(f"{_VERSION}/raw/<path:path>", module_raw, name="module-raw"),
]
