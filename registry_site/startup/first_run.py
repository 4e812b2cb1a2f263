"""The first run: create the user `admin` and publish a small demo module."""

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
from registry_site.server.files import replace

ADMIN = "admin"
DEMO_NAMESPACE = "demo"
DEMO_ADDRESS = "demo/hello/local"
DEMO_VERSION = "1.0.0"
DEMO_FILES = Path(__file__).resolve().parents[1] / "demo" / "hello"


def create_admin(chosen: str) -> str | None:
    """Create the account `admin` if there is no superuser yet.

    Its password is `chosen`, or else a random one, which is returned to be shown: now, and at later starts until the
    first sign-in with it. None: nothing to show. A demonstration has none: no one signs in there.
    """
    if settings.DEMO == "on":
        return None
    if User.objects.filter(is_superuser=True).exists() or User.objects.filter(username=ADMIN).exists():
        return _unused_password()
    password = chosen or "-".join(secrets.token_hex(3) for _ in range(4))
    if not chosen:
        replace(_password_file(), password.encode(), mode=0o600)
    with transaction.atomic():
        user = User.objects.create_superuser(username=ADMIN, password=password)
        record(Kind.USER_JOINED, actor_id=None, subject=user.get_username(), how="first run")
    return None if chosen else password


def _unused_password() -> str | None:
    file = _password_file()
    if not file.is_file():
        return None
    password = file.read_text()
    admin = User.objects.filter(username=ADMIN, last_login=None).first()
    if admin is not None and admin.check_password(password):
        return password
    forget_password()
    return None


def forget_password(*, user: User | None = None, **_: object) -> None:
    """Call it when `admin` has signed in."""
    if user is None or user.username == ADMIN:
        _password_file().unlink(missing_ok=True)


def _password_file() -> Path:
    return Path(settings.DATA_DIR) / "admin-password"


def demo_is_due() -> bool:
    """Return whether to publish the demo: until anything was ever published, so that the next run completes a first
    one.

    Not after its namespace was deleted.
    """
    was_deleted = Namespace.including_deleted.filter(name=DEMO_NAMESPACE).exclude(deleted_at=None)
    if settings.DEMO != "module" or was_deleted.exists():
        return False
    return not Release.objects.filter(state__in=[State.PUBLISHED, State.PURGED]).exists()


def demo_is_there() -> bool:
    released = Release.objects.published().filter(namespace__name=DEMO_NAMESPACE, version=DEMO_VERSION)
    return released.filter(name=DEMO_ADDRESS.partition("/")[2]).exists()


def publish_demo() -> Release:
    """Upload the demo module like any other; a worker publishes it. Errors pass through."""
    admin = Viewer(User.objects.filter(is_superuser=True, is_active=True).earliest("pk"))
    if not Namespace.objects.filter(name=DEMO_NAMESPACE).exists():
        namespaces.create(
            name=DEMO_NAMESPACE,
            visibility=Visibility.PUBLIC,
            description="Created by the first run, to try out Larder.",
            actor=admin,
        )
    data = demo_archive()
    release, _ = publishing.publish(
        viewer=admin,
        address=ModuleAddress.parse(DEMO_ADDRESS),
        version=DEMO_VERSION,
        file_name=f"hello-{DEMO_VERSION}.zip",
        open_body=lambda: [data],
    )
    return release


def demo_archive() -> bytes:
    """Return a zip of the demo's files, with the same bytes on every machine."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(DEMO_FILES.iterdir()):
            entry = zipfile.ZipInfo(path.name, date_time=(2026, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return buffer.getvalue()
