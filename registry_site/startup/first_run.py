"""What the first run leaves behind: the user `admin` and one small published module."""

import io
import secrets
import zipfile
from pathlib import Path

from django.conf import settings
from django.db import transaction

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, User, Visibility
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.addresses import ModuleAddress
from apps.modules import publishing
from apps.releases.models import Release, State

ADMIN = "admin"
DEMO_NAMESPACE = "demo"
DEMO_ADDRESS = "demo/hello/local"
DEMO_VERSION = "1.0.0"
DEMO_FILES = Path(__file__).resolve().parents[1] / "demo" / "hello"


def create_admin(chosen: str) -> str | None:
    """Make the account `admin` where nobody operates this Larder yet.

    With the password that the operator chose, or with a random one, which is answered: it is stored nowhere but as a
    hash, so whoever asked shows it once. None: there is nothing to show.
    """
    if User.objects.filter(is_superuser=True).exists() or User.objects.filter(username=ADMIN).exists():
        return None
    password = chosen or "-".join(secrets.token_hex(3) for _ in range(4))
    with transaction.atomic():
        user = User.objects.create_superuser(username=ADMIN, password=password)
        record(Kind.USER_JOINED, actor_id=None, subject=user.get_username(), how="first run")
    return None if chosen else password


def demo_is_due() -> bool:
    """True until anything has been published, so that an interrupted first run is made up for by the next one.

    What was purged was published, and who deleted the namespace did not want it back.
    """
    if not settings.DEMO or Namespace.including_deleted.filter(name=DEMO_NAMESPACE).exclude(deleted_at=None).exists():
        return False
    return not Release.objects.filter(state__in=[State.PUBLISHED, State.PURGED]).exists()


def demo_is_there() -> bool:
    released = Release.objects.published().filter(namespace__name=DEMO_NAMESPACE, version=DEMO_VERSION)
    return released.filter(name=DEMO_ADDRESS.partition("/")[2]).exists()


def publish_demo() -> Release:
    """Hand the demo module in, the ordinary way: the worker does the rest. Errors of the pipeline pass through."""
    admin = Viewer(User.objects.filter(is_superuser=True, is_active=True).earliest("pk"))
    if not Namespace.objects.filter(name=DEMO_NAMESPACE).exists():
        namespaces.create(
            name=DEMO_NAMESPACE,
            visibility=Visibility.PUBLIC,
            description="Made by the first run, to try a new Larder with.",
            actor=admin,
        )
    data = demo_archive()
    return publishing.publish(
        viewer=admin,
        address=ModuleAddress.parse(DEMO_ADDRESS),
        version=DEMO_VERSION,
        file_name=f"hello-{DEMO_VERSION}.zip",
        open_body=lambda: [data],
    ).release


def demo_archive() -> bytes:
    """The zip of the demo's files; the same bytes on every machine, whatever the dates of a checkout."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(DEMO_FILES.iterdir()):
            entry = zipfile.ZipInfo(path.name, date_time=(2026, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return buffer.getvalue()
