"""Downloads that nginx answered, from its log."""

import gzip
import json
import uuid

import pytest
from django.core.management import CommandError, call_command

from apps.contrib.copy.edge import downloads
from apps.contrib.copy.models import CountedLog
from apps.lib.errors import Conflict
from apps.releases.catalogue import downloads as recording
from apps.releases.models import DownloadCount, Fetch
from tests.protocol.providers import cast

MODULE = "/v1/modules/acme/vpc/aws/1.2.0/download"
PROVIDER = "/v1/providers/acme/dns/1.2.0/download/linux/amd64"


def line(path=MODULE, method="GET", status="200", agent="OpenTofu/1.12.6", reader="", **more):
    at = {"id": uuid.uuid4().hex, "at": "2026-12-01T05:34:46+02:00"}
    return json.dumps(
        {**at, "method": method, "status": status, "path": path, "agent": agent, "reader": reader, **more}
    )


@pytest.fixture
def log(tmp_path, acme, published, settings):
    settings.HOSTNAMES = frozenset({"registry.test"})
    published()
    return tmp_path / "larder-copy.log"


def write(log, *lines):
    with log.open("a") as file:
        file.writelines(f"{one}\n" for one in lines)


def counts():
    return {row.client: row.count for row in DownloadCount.objects.all()}


def test_a_download_counts_for_its_release_its_day_its_client_and_its_reader(log, acme, bob):
    cast.add_version(cast.frozen_key(acme), None, "dns", "1.2.0", ["linux_amd64"])
    mirrored = "/v1/mirror/registry.test/acme/dns/1.2.0.json"
    write(
        log, line(reader=str(bob.pk)), line(MODULE.replace("acme", "ACME")), line(PROVIDER, agent="x"), line(mirrored)
    )

    counted = downloads.count(log)

    assert (counted.downloads, counted.others, counted.unknown, counted.unreadable) == (4, 0, 0, 0)
    found = {(row.release.name, row.client): row.count for row in DownloadCount.objects.select_related("release")}
    assert found == {("vpc/aws", "OpenTofu 1.12.6"): 2, ("dns", "other"): 1, ("dns", "OpenTofu 1.12.6"): 1}
    assert {str(row.day) for row in DownloadCount.objects.all()} == {"2026-12-01"}
    assert [(row.user, row.count) for row in Fetch.objects.all()] == [(bob, 1)]


def test_what_fetches_nothing_does_not_count(log):
    others = [line(method="HEAD"), line(status="304"), line("/v1/modules/acme/vpc/aws/versions")]
    write(
        log,
        *others,
        line("/packages/modules/acme/vpc/aws/1.2.0.zip"),
        line("/v1/mirror/registry.test/acme/dns/index.json"),
    )
    counted = downloads.count(log)
    assert (counted.downloads, counted.others) == (0, 5)


def test_a_line_counts_once_however_often_the_log_is_read(log, tmp_path):
    write(log, line())
    assert downloads.count(log).downloads == 1
    with log.open("a") as file:
        file.write(line()[:40])  # nginx is about to write the rest
    assert downloads.count(log) == downloads.Counted()
    with log.open("a") as file:
        file.write(f"{line()[40:]}\n")
    write(log, line())
    rotated, packed = tmp_path / "larder-copy.log.1", tmp_path / "larder-copy.log.2.gz"
    log.rename(rotated)
    write(log, line())
    assert [downloads.count(path).downloads for path in (rotated, log, rotated, log)] == [2, 1, 0, 0]
    packed.write_bytes(gzip.compress(rotated.read_bytes() + f"{line()}\n".encode()))
    assert downloads.count(packed).downloads == 1
    assert counts() == {"OpenTofu 1.12.6": 5}


def test_lines_of_another_format_and_versions_that_are_gone_are_told_apart(log, capsys):
    bad = ["127.0.0.1 - - GET /", "{}", '{"path": 1}', "[]", line(at="yesterday"), line(agent=None), "\0" * 70_000]
    write(
        log,
        line(),
        *bad,
        line(MODULE.replace("1.2.0", "9.9.9")),
        line(MODULE.replace("acme", "none")),
        line(reader="x"),
    )

    call_command("count_downloads", str(log))

    said = capsys.readouterr().out
    assert f"{log}: 2 downloads, 0 other requests." in said
    assert "2 downloads are of versions that no longer exist." in said
    assert "8 lines were skipped: found another format, expected larder_copy of deploy/nginx/static-copy.conf." in said


def test_a_crash_counts_no_line_twice(log, monkeypatch):
    monkeypatch.setattr(downloads, "LINES", 2)
    write(log, *[line() for _ in range(5)])
    written, real = [], recording.write

    def dies(batch):
        written.append(batch)
        if len(written) == 2:
            raise KeyboardInterrupt
        return real(batch)

    with monkeypatch.context() as during:
        during.setattr(recording, "write", dies)
        with pytest.raises(KeyboardInterrupt):
            downloads.count(log)
    assert downloads.count(log).downloads == 3
    assert counts() == {"OpenTofu 1.12.6": 5}


def test_two_at_once_do_not_count_a_line_twice(log, monkeypatch):
    write(log, line())
    real = recording.write

    def other_first(batch):
        CountedLog.objects.update(position=1)
        return real(batch)

    monkeypatch.setattr(recording, "write", other_first)
    with pytest.raises(Conflict, match="Another process is counting this log"):
        downloads.count(log)
    assert counts() == {}


def test_a_log_that_is_not_there_or_no_gz_is_an_error(log, tmp_path):
    with pytest.raises(CommandError, match=r"cannot be read: No such file or directory.*Expected the log of nginx"):
        call_command("count_downloads", str(log))
    (tmp_path / "a.gz").write_bytes(b"no gzip\n")
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("count_downloads", str(tmp_path / "a.gz"))
