"""Finding the worker among the processes of a Larder started here."""

from pathlib import Path


def worker_of(parent: int) -> int:
    """The process id of the Celery worker below `parent`."""
    found = [pid for pid in _below(parent) if "worker" in _command(pid) and "manage.py" in " ".join(_command(pid))]
    assert found, f"no worker below {parent}"
    return found[0]


def _below(parent: int) -> list[int]:
    children = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _parent(path) == parent]
    return children + [grandchild for child in children for grandchild in _below(child)]


def _parent(path: Path) -> int:
    try:
        return int((path / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError):  # it ended meanwhile
        return -1


def _command(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
