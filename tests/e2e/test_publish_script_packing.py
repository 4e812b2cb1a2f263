"""publish.sh packs what Git has committed, and any other folder to the same bytes."""

import hashlib
import subprocess
import zipfile
from io import BytesIO

import pytest

from tests.e2e.answering import ADDRESS, make, run, server
from tests.e2e.ci_jobs import SHELLS

__all__ = ["make", "server"]
pytestmark = [pytest.mark.needs("curl", "git", "dash")]


def packed(server):
    return server.bodies(ADDRESS)[-1]


def names(data):
    return zipfile.ZipFile(BytesIO(data)).namelist()


@pytest.mark.parametrize("shell", [pytest.param(one, marks=pytest.mark.needs(one)) for one in SHELLS])
def test_a_repository_is_packed_as_committed_and_one_of_its_folders_alone(make, server, shell):
    here = make(shell)
    (here.repository / "modules").mkdir()
    here.write("modules/variables.tf", "# a folder\n")
    here.commit("v1")
    here.write("publish.sh", "downloaded")
    run(here)
    committed = packed(server)
    assert "main.tf" in names(committed)
    assert "publish.sh" not in names(committed)

    here.write("main.tf", "# not committed\n")
    said = run(here, TZ="America/New_York")
    assert "changes in . are left out" in said
    assert packed(server) == committed
    run(here, "acme/vpc/aws 1.0.0 modules")
    assert names(packed(server)) == ["variables.tf"]


def test_a_repository_that_git_does_not_trust_is_not_packed_as_a_folder(make, server):
    here = make()
    here.commit("v1")
    git = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    here.program("git", f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {git} "$@"\n')
    assert "dubious ownership" in run(here, status=2)
    assert not server.requests


def plain(here, name, *, umask, at):
    """A folder that no Git knows."""
    folder = here.folder / name
    text = (
        f"umask {umask}; mkdir -p {folder}/modules/a {folder}/.terraform {folder}/.git; cd {folder}; echo a > main.tf;"
        "echo b > modules/a/b.tf; echo x > .terraform/x; echo x > .git/x; printf 'run' > run.sh; chmod u+x run.sh;"
        f"ln -s main.tf link.tf; touch -h -d @{at} main.tf modules link.tf; cp ../publish.sh ."
    )
    subprocess.run(["sh", "-c", text], check=True)
    (folder / ".git" / "HEAD").unlink(missing_ok=True)
    return folder


@pytest.mark.needs("zip", "tar")
@pytest.mark.parametrize("program", ["zip", "tar"])
@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_any_folder_is_packed_to_the_same_bytes(make, server, shell, program):
    here = make(shell)
    if program == "tar":
        hide(here, "zip")
    digests = set()
    for name, umask, at in (("one", "022", 1_000_000_000), ("two", "077", 1_600_000_000)):
        plain(here, name, umask=umask, at=at)
        run(here, f"acme/vpc/aws 1.0.0 ../{name}")
        digests.add(hashlib.sha256(packed(server)).hexdigest())
        if program == "zip":
            assert names(packed(server)) == ["link.tf", "main.tf", "modules/a/b.tf", "run.sh"]
    assert len(digests) == 1


def hide(here, *programs):
    """A PATH that has what the script needs, and not these."""
    wanted = "sh cat sed grep tr head mktemp date rm mkdir cp cmp find sort chmod touch curl gzip git zip tar sha256sum"
    tools = here.folder / "tools"
    tools.mkdir()
    for name in set(wanted.split()) - set(programs):
        if not (here.programs / name).exists():
            path = subprocess.run(["which", name], capture_output=True, text=True, check=True).stdout.strip()
            (tools / name).symlink_to(path)
    here.environment["PATH"] = f"{here.programs}:{tools}"


def test_without_a_program_that_packs_it_says_which_to_install(make, server):
    here = make()
    plain(here, "one", umask="022", at=1)
    hide(here, "git", "zip", "tar")
    assert "needs git, zip or GNU tar: install one of them, or name an archive." in run(
        here, "acme/vpc/aws 1.0.0 ../one", 2
    )
    assert not server.requests
    hide_again = here.folder / "tools" / "curl"
    hide_again.unlink()
    assert "This script needs curl: install it." in run(here, "acme/vpc/aws 1.0.0", 2)
