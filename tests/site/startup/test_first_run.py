"""The first run shows life: its module, and the printed lines that install it with a real client."""

import shutil
import subprocess
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from apps.accounts import namespace_deletion, namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, User
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from registry_site.startup import first_run, startup_message
from tests.live import Live
from tests.needs import CLIENTS
from tests.site.processes import eventually


def printed_lines(output: Path) -> str:
    """The text between the markers, as a person would copy it."""
    eventually(lambda: startup_message.COPY_TO in output.read_text(), seconds=60)
    return output.read_text().split(startup_message.COPY_FROM)[1].split(startup_message.COPY_TO)[0]


def paste(lines: str, folder: Path, *, client: str) -> str:
    """Run the lines in `bash -eu` in an environment that holds nothing but a PATH to one client."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / client).symlink_to(shutil.which(client) or "")
    done = subprocess.run(
        ["bash", "-eu"],
        input=lines,
        env={"PATH": f"{programs}:/usr/bin:/bin", "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.live
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.smoke
def test_the_printed_lines_install_and_apply_over_tls(live: Live, tmp_path: Path, client: str) -> None:
    said = paste(printed_lines(live.output), tmp_path, client=client)
    assert "Apply complete!" in said
    assert "Hello, World!" in said


@pytest.mark.live
@pytest.mark.needs("terraform")
def test_the_printed_lines_install_and_apply_without_tls(plain: Live, tmp_path: Path) -> None:
    lines = printed_lines(plain.output)
    assert f"export TF_CLI_CONFIG_FILE={plain.data_dir}/tofu.rc" in lines
    assert "Apply complete!" in paste(lines, tmp_path, client="terraform")


def test_the_demo_archive_has_the_same_bytes_whatever_the_dates_of_the_checkout(tmp_path: Path) -> None:
    with zipfile.ZipFile(BytesIO(first_run.demo_archive())) as archive:
        assert {"main.tf", "variables.tf", "outputs.tf", "README.md"} <= set(archive.namelist())
        assert {entry.date_time for entry in archive.infolist()} == {(2026, 1, 1, 0, 0, 0)}
    assert first_run.demo_archive() == first_run.demo_archive()


@pytest.mark.both
@pytest.mark.django_db
def test_the_first_account_is_made_once_and_its_password_never_changes_by_itself() -> None:
    assert first_run.create_admin("chosen by the operator") is None, "nothing to show: the operator knows it"
    assert first_run.create_admin("another one") is None
    assert first_run.create_admin("") is None
    admin = User.objects.get(username="admin")
    assert admin.is_superuser
    assert admin.is_staff
    assert admin.check_password("chosen by the operator")


@pytest.mark.both
@pytest.mark.django_db
def test_without_a_choice_the_password_is_random(settings, tmp_path) -> None:
    settings.DATA_DIR = tmp_path
    password = first_run.create_admin("")
    assert password is not None
    assert len(password) >= 24
    assert User.objects.get(username="admin").check_password(password)


@pytest.mark.django_db
def test_the_password_is_shown_at_each_start_until_somebody_signs_in(settings, tmp_path, client) -> None:
    settings.DATA_DIR = tmp_path
    password = first_run.create_admin("")
    assert (tmp_path / "admin-password").stat().st_mode & 0o777 == 0o600
    assert first_run.create_admin("") == password
    said = startup_message.text(public_url="https://larder.example", data_dir=tmp_path, files=None, password=password)
    *_, lost, gap, last, _ = said.splitlines()
    assert last == f"Sign in as admin with the password {password}"
    assert not gap, "the line above it is about another password"
    assert lost.startswith("If you lose the password of admin: ")
    assert lost.endswith("manage.py set_password admin")

    client.post("/account/login/", {"login": "admin", "password": password})
    assert not (tmp_path / "admin-password").exists()
    assert first_run.create_admin("") is None


@pytest.mark.django_db
def test_a_password_that_was_changed_is_not_shown(settings, tmp_path) -> None:
    settings.DATA_DIR = tmp_path
    first_run.create_admin("")
    admin = User.objects.get()
    admin.set_password("plums in august")
    admin.save()
    assert first_run.create_admin("") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.both
@pytest.mark.django_db
def test_the_demo_comes_once_and_its_removal_sticks(work) -> None:
    first_run.create_admin("")
    assert first_run.demo_is_due()
    release = first_run.publish_demo()
    work()
    address = ModuleAddress.parse(first_run.DEMO_ADDRESS)
    admin = Viewer(User.objects.get())
    confirm = str(release)
    lifecycle.purge(viewer=admin, address=address, version=first_run.DEMO_VERSION, reason="Ours now.", confirm=confirm)

    assert not first_run.demo_is_due(), "it was purged"
    demo = Namespace.objects.get(name="demo")
    namespace_deletion.delete(namespace=demo, actor=Viewer(User.objects.get()))
    assert not first_run.demo_is_due(), "its namespace was deleted"


@pytest.mark.both
@pytest.mark.django_db
def test_a_demo_namespace_that_was_deleted_before_anything_was_published_stays_away() -> None:
    first_run.create_admin("")
    admin = Viewer(User.objects.get())
    demo = namespaces.create(name="demo", visibility="public", actor=admin)
    namespace_deletion.delete(namespace=demo, actor=admin)

    assert not first_run.demo_is_due()


@pytest.mark.both
@pytest.mark.django_db
def test_without_the_demo_nothing_is_published_and_no_lines_are_printed(settings) -> None:
    settings.DEMO = "off"
    said = startup_message.text(
        public_url="https://larder.example", data_dir=Path("/srv"), files=None, password=None, has_demo=False
    )

    assert not first_run.demo_is_due()
    assert not first_run.demo_is_there()
    assert startup_message.COPY_FROM not in said
    assert "Larder is ready: https://larder.example" in said
