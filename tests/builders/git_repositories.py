"""Bare repositories, built with git fast-import: `git_servers` and `git_daemons` serve them."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

WHEN = 1_700_000_000
# Nothing of this host's configuration, such as a signing key, comes into the repositories.
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_COMMITTER_NAME": "Alice",
    "GIT_COMMITTER_EMAIL": "alice@acme.example",
    "GIT_COMMITTER_DATE": f"{WHEN} +0000",
    "LC_ALL": "C",
}


@dataclass(frozen=True)
class File:
    """A file with a mode: 120000 is a link to `content`, 160000 a submodule at the commit `content`."""

    content: str | bytes
    mode: str = "100644"


def link(target: str) -> File:
    return File(target, "120000")


def submodule(commit: str) -> File:
    return File(commit, "160000")


def executable(content: str) -> File:
    return File(content, "100755")


def lfs_pointer(size: int = 12345) -> str:
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d7a' * 16}\nsize {size}\n"


Files = Mapping[str, str | bytes | File]


class Batch:
    """Commits and tags that are written at once: some hundreds take 50 ms."""

    def __init__(self, branch: str) -> None:
        self.stream, self._branch = bytearray(), branch
        self._commits = 0

    def commit(self, files: Files, message: str = "Change", *, whole: bool = True, when: int = WHEN) -> str:
        """Return a mark, for `tag`. `whole`: the files are all of the commit; else they change the one before."""
        self._commits += 1
        self._line(f"commit {self._branch}", f"mark :{self._commits}")
        self._line(f"committer Alice <alice@acme.example> {when} +0000")
        self._data(message)
        if whole:
            self._line("deleteall")
        for path, given in files.items():
            file = given if isinstance(given, File) else File(given)
            if file.mode == "160000":
                self._line(f"M 160000 {_text(file.content)} {_quoted(path)}")
            else:
                self._line(f"M {file.mode} inline {_quoted(path)}")
                self._data(file.content)
        self._line()
        return f":{self._commits}"

    def tag(self, name: str, commit: str = "", *, message: str = "", when: int = WHEN) -> None:
        """Tag a mark or a commit id; the batch's last commit, or the branch, if none is given."""
        at = commit or (f":{self._commits}" if self._commits else self._branch)
        if message:
            self._line(f"tag {name}", f"from {at}", f"tagger Alice <alice@acme.example> {when} +0000")
            self._data(message)
        else:
            self._line(f"reset refs/tags/{name}", f"from {at}", "")

    def _line(self, *lines: str) -> None:
        self.stream += "".join(f"{line}\n" for line in lines or ("",)).encode("utf-8", "surrogateescape")

    def _data(self, content: str | bytes) -> None:
        data = content if isinstance(content, bytes) else content.encode()
        self.stream += b"data %d\n%s\n" % (len(data), data)


class Repository:
    """A bare repository."""

    def __init__(self, path: Path, branch: str = "refs/heads/main") -> None:
        self.path, self.branch = path, branch
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            self.run("init", "--quiet", "--bare", "--initial-branch=main", str(path), at="/")
            self.run("config", "http.receivepack", "false")

    def run(self, *words: str, given: bytes = b"", at: str = "", **environment: str) -> str:
        done = subprocess.run(
            ["git", "-C", at or str(self.path), *words],
            input=given,
            capture_output=True,
            check=False,
            env={**ENVIRONMENT, **environment},
        )
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        return done.stdout.decode("utf-8", "replace").strip()

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        batch = Batch(self.branch)
        yield batch
        beginning = b""
        if self.head:
            beginning = f"reset {self.branch}\nfrom {self.head}\n\n".encode()
        self.run("fast-import", "--quiet", "--force", given=beginning + bytes(batch.stream))

    @property
    def head(self) -> str:
        """The newest commit; empty for an empty repository."""
        return self.run("for-each-ref", "--format=%(objectname)", self.branch)

    def commit(self, files: Files, message: str = "Change", *, whole: bool = True, when: int = WHEN) -> str:
        """Return its id."""
        with self.batch() as batch:
            batch.commit(files, message, whole=whole, when=when)
        return self.head

    def tag(self, name: str, commit: str = "", *, message: str = "") -> str:
        """Create or move a tag; return the object that it is: the commit, or the annotated tag."""
        with self.batch() as batch:
            batch.tag(name, commit or self.head, message=message)
        return self.run("rev-parse", f"refs/tags/{name}")

    def sign_tag(self, name: str, key: Path, message: str = "Signed") -> str:
        """Create a tag that an ssh key signed; `ssh_key` makes one."""
        options = ("-c", "gpg.format=ssh", "-c", f"user.signingkey={key}")
        self.run(*options, "tag", "--force", "--sign", "-m", message, name, self.head)
        return self.run("rev-parse", f"refs/tags/{name}")

    def delete_tag(self, name: str) -> None:
        self.run("update-ref", "-d", f"refs/tags/{name}")


def ssh_key(path: Path, *, kind: str = "ed25519", bits: int = 0) -> Path:
    """Make a key pair: `path`, and `path`.pub. `bits`: the usual size of its kind if 0."""
    size = ["-b", str(bits)] if bits else []
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *size, "-N", "", "-C", "", "-f", path], check=True)
    return path


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _text(content: str | bytes) -> str:
    return content if isinstance(content, str) else content.decode()
