"""Reports as readers get them: of published versions those who read the namespace, of others its publishers."""

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.contrib.checks.models import Report, ReportQuerySet
from apps.contrib.checks.sending import HISTORY, Target
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import NotFound, existing
from apps.lib.versions import parse
from apps.releases.catalogue.reading import sort_key_of
from apps.releases.models import Kind, Release, State
from apps.releases.origin.models import Origin, joined


def target_for(viewer: Viewer, address: ModuleAddress | ProviderAddress, version: str) -> Target:
    """Raises as the gate does, and NotFound."""
    namespace, role = gate.namespace_and_role(
        viewer, address.namespace, only_name=address.path_name, spelled=address.spelled
    )
    sort_key_of(address, version)  # raises NotFound for what is no number
    kind = Kind.MODULE if isinstance(address, ModuleAddress) else Kind.PROVIDER
    target = Target(kind, namespace, address.path_name, parse(version), None)
    release = Release.objects.live().select_related("namespace", "origin").filter(**target.columns).first()
    if release is not None and release.state == State.PURGED:
        raise NotFound(release.removal)
    is_readable = release is not None and release.state == State.PUBLISHED and release.quarantined_at is None
    if not is_readable and not role.covers(Role.PUBLISHER):
        raise NotFound(f"There is no version {version} of {address}.")
    return Target(kind, namespace, target.name, target.version, release)


def report_of(target: Target, name: str) -> Report:
    """Return the newest report of the name, with its details. Raises NotFound."""
    rows = Report.objects.filter(**target.columns, check_name=name, is_newest=True)
    return existing(rows.select_related("sent_by").first(), f"{target} has no check {name[:80]!a}.")


def history_of(report: Report) -> ReportQuerySet:
    same = {name: getattr(report, name) for name in ("kind", "namespace", "name", "check_name")}
    rows = Report.objects.filter(**same, sort_key=bytes(report.sort_key))
    return rows.defer("packed").select_related("sent_by").order_by("-received_at", "-pk")[:HISTORY]


def origin_of(target: Target) -> Origin | None:
    return joined(target.release, "origin") if target.release is not None else None
