"""oras for Python, which never widens its token: whole and chunked pushes, and pulls."""

import random
from pathlib import Path

import pytest

pytestmark = pytest.mark.live


@pytest.fixture
def client(live, tmp_path, monkeypatch):
    """Of one token, or of nobody; with a home of its own."""
    import oras.client  # takes a second, of each run that only collects this folder

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    made = []

    def of(secret: str = ""):
        one = oras.client.OrasClient(hostname=live.host, tls_verify=str(live.ca_bundle))
        if secret:
            one.auth.set_basic_auth("ci", secret)
        made.append(one)
        return one

    yield of
    for one in made:
        one.session.close()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "artefact.bin"
    path.write_bytes(random.Random(6).randbytes(300_000))
    return path


@pytest.mark.parametrize("chunk", [0, 65_536])
def test_a_file_comes_back_as_it_was_pushed(live, shelf, client, file, tmp_path, chunk):
    target = f"{live.host}/acme/oras-{chunk}/python:pushed"
    more = {"do_chunked": True, "chunk_size": chunk} if chunk else {}

    answer = client(shelf.manage).push(target, files=[str(file)], disable_path_validation=True, quiet=True, **more)

    assert answer.status_code == 201
    pulled = client(shelf.read).pull(target, outdir=str(tmp_path / "out"))
    assert [Path(path).read_bytes() for path in pulled] == [file.read_bytes()]
