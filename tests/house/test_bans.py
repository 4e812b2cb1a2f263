"""Habits that the architecture forbids, and shortcuts of early versions."""

import ast
import re

from tests import rooms
from tests.house import sources
from tests.rows import for_each_row

OURS = sources.python_files("apps", "registry_site")
UPLOAD_PATHS = [
    sources.CHECKOUT / "apps" / "portal" / "publish" / "uploads.py",
    sources.CHECKOUT / "apps" / "portal" / "frame" / "form_files.py",
    sources.CHECKOUT / "apps" / "api" / "versions" / "modules.py",
    sources.CHECKOUT / "apps" / "lib" / "net" / "bodies.py",
    sources.CHECKOUT / "apps" / "releases" / "publishing" / "receiving.py",
]


def outside(*allowed):
    return [path for path in OURS if not sources.name_of(path).startswith(allowed)]


def test_celery_is_never_eager():
    """Toy 1: the web process would compute the digest."""
    everywhere = [path for path in sources.python_files() if path.name != "test_bans.py"]
    assert sources.files_with(r"always_eager|task_eager", everywhere) == []


def test_no_model_or_form_has_a_file_field():
    """Toy 2: a FileField brings Django's upload handlers with it."""
    assert sources.files_with(r"\b(FileField|ImageField)\(", OURS) == []


@for_each_row("path", UPLOAD_PATHS, ids=sources.name_of)
def test_an_upload_path_never_lets_django_read_the_body(path):
    """Toy 2: each of these attributes reads the whole body into memory or a temporary file."""
    assert sources.files_with(r"\.(FILES|POST|body|data)\b", [path]) == []


def test_nothing_uploaded_is_unpacked():
    """Toy 7."""
    assert sources.files_with(r"extractall|unpack_archive|\.extract\(", OURS) == []


def test_only_jobs_rings_celery():
    """A task that is sent before the commit, or without its row, is lost work (D4)."""
    assert sources.files_with(r"\.delay\(|apply_async|send_task", outside("apps/jobs/")) == []


def test_only_env_reads_the_environment():
    assert sources.files_with(r"os\.environ|os\.getenv|getenvb|environb", outside("registry_site/env.py")) == []


@for_each_row(
    ("library", "home"),
    [
        ("gnupg", "apps/signing/"),
        ("storages", "apps/blobs/"),
        ("boto3", ("apps/blobs/", *rooms.entries("AWS"))),
        ("botocore", ("apps/blobs/", *rooms.entries("AWS"))),
        ("tarfile", ("apps/lib/", "apps/contrib/")),
        ("multipart", ("apps/portal/", "apps/contrib/")),
        ("dj_database_url", "registry_site/env.py"),
    ],
)
def test_a_library_has_one_home(library, home):
    users = {
        sources.name_of(path) for path in OURS if any(name.split(".")[0] == library for name in sources.imported(path))
    }
    assert {user for user in users if not user.startswith(home)} == set()


def test_no_model_has_an_implicit_order():
    found = [
        f"{sources.name_of(path)}:{node.lineno}"
        for path in OURS
        for meta in ast.walk(sources.tree_of(path))
        if isinstance(meta, ast.ClassDef) and meta.name == "Meta"
        for node in meta.body
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "ordering" for target in node.targets)
    ]
    assert found == []


def test_no_save_is_overridden():
    found = [
        f"{sources.name_of(path)}:{node.lineno}"
        for path in OURS
        for node in ast.walk(sources.tree_of(path))
        if isinstance(node, ast.FunctionDef) and node.name == "save"
    ]
    assert found == []


def test_there_are_no_model_signals():
    assert sources.files_with(r"\b(pre|post)_(save|delete|init|migrate)\b|\bm2m_changed\b|class_prepared", OURS) == []


def test_there_are_no_generic_model_views():
    assert sources.files_with(r"ModelViewSet|ModelSerializer", OURS) == []


def test_every_ignored_type_error_has_a_code_and_a_reason():
    bare = [
        f"{sources.name_of(path)}:{number}"
        for path in OURS
        for number, line in enumerate(sources.text_of(path).splitlines(), 1)
        if "type: ignore" in line and not ("type: ignore[" in line and "#" in line.split("type: ignore[", 1)[1])
    ]
    assert bare == []


def test_what_a_database_decides_is_tested_on_both():
    """Constraints, locks and transactions: SQLite has one writer at a time, and checks less."""
    decided = r"IntegrityError|ProtectedError|select_for_update|transaction=True|connection\.vendor"
    files = [
        path for path in sources.python_files("tests") if path.name.startswith("test_") and path.name != "test_bans.py"
    ]
    once = [path for path in files if not re.search(r"pytest\.mark\.(both|live)", sources.text_of(path))]
    assert sources.files_with(decided, once) == []
