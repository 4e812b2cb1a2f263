"""Collecting in a loop while clients push, skip, mount, delete and push again (oci.md 8, case 24).

A client that was told 201 for a manifest finds it, and all that it names, for as long as it keeps its tag.
"""

import random
import threading
import time
from collections import Counter
from datetime import timedelta

import pytest
from django.db import OperationalError, connection

from apps.artifacts import gc
from apps.artifacts.models import Manifest, RepositoryBlob, UploadSession
from apps.blobs.models import Blob
from tests.oci.manifests.documents import Repo, digest_of, image

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both]

GRACE = timedelta(seconds=2)
LEAST_SECONDS, MOST_SECONDS = 6, 20  # until each thing has happened
LAYERS = [b"%d" % number * 2000 for number in range(30)]
NAMES = [f"pantry/module{number}/aws" for number in range(3)]
# What a client may be told meanwhile; after 503 and an unknown blob it sends that again.
AGAIN = {404, 503}


class Pusher:
    """One client with a tag of its own in one of the repositories, where others push the same layers."""

    def __init__(self, repo: Repo, number: int) -> None:
        self.repo, self.tag, self.choice = repo, f"tag{number}", random.Random(number)
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []

    def turn(self) -> None:
        layers = self.choice.sample(LAYERS, 3)
        raw = image(*layers, annotations={"by": self.tag, "n": str(self.choice.random())})
        if not self.push(raw, layers):
            return
        self.seen["pushed"] += 1
        if self.choice.random() < 0.3:
            time.sleep(GRACE.total_seconds() / 2)
        self.check(raw, layers)
        if self.choice.random() < 0.5:
            target = self.tag if self.choice.random() < 0.5 else digest_of(raw)
            assert self.repo.delete(target).status_code == 202
            self.seen["deleted"] += 1
            self.take_out(layers)

    def push(self, raw: bytes, layers: list[bytes]) -> bool:
        for _ in range(20):
            for data in (b"{}", *layers):
                self.bring(data)
            status = self.repo.put(raw, self.tag).status_code
            if status == 201:
                return True
            self.expect("manifest", status, AGAIN)
        self.wrong.append("never came through")
        return False

    def bring(self, data: bytes) -> None:
        """Push like clients: HEAD and skip, or mount from elsewhere, or send it."""
        url, digest = f"/v2/{self.repo.name}/blobs", digest_of(data)
        if self.choice.random() < 0.8 and self.repo.client.head(f"{url}/{digest}").status_code == 200:
            self.seen["skipped"] += 1
            return
        if self.choice.random() < 0.5:
            source = self.choice.choice(NAMES)
            status = self.repo.client.post(f"{url}/uploads/?mount={digest}&from={source}").status_code
            if status == 201:
                self.seen["mounted"] += 1
                return
            self.expect("mount", status, {202, 503})
        answer = self.repo.client.post(f"{url}/uploads/?digest={digest}", data, "application/octet-stream")
        self.expect("blob", answer.status_code, {201, 503})

    def take_out(self, layers: list[bytes]) -> None:
        """A manifest that another one uses by now is refused."""
        for data in layers:
            status = self.repo.client.delete(f"/v2/{self.repo.name}/blobs/{digest_of(data)}").status_code
            self.expect("delete", status, {202, 404, 405})

    def check(self, raw: bytes, layers: list[bytes]) -> None:
        for reference in (self.tag, digest_of(raw)):
            if self.repo.get(reference).content != raw:
                self.wrong.append(f"{self.tag}: the manifest by {reference[:12]} is not there")
        for data in (b"{}", *layers):
            answer = self.repo.client.get(f"/v2/{self.repo.name}/blobs/{digest_of(data)}")
            if answer.status_code != 200 or answer.getvalue() != data:
                self.wrong.append(f"{self.tag}: GET of a blob answers {answer.status_code}")

    def expect(self, what: str, status: int, allowed: set[int]) -> None:
        self.seen[f"{what} {status}"] += 1
        if status not in allowed:
            self.wrong.append(f"{self.tag}: {what} answers {status}")


def repeat(act, is_enough, wrong: list[str]) -> None:
    try:
        while not is_enough():
            act()
    except Exception as error:
        wrong.append(repr(error))
        raise
    finally:
        connection.close()


@pytest.mark.slow
def test_nobody_loses_what_they_were_told_is_there_and_nothing_leaks(
    repo, alice, pantry, settings, stored_files, days_pass
):
    settings.OCI_GRACE = GRACE
    pushers = [Pusher(repo(NAMES[number % len(NAMES)]), number) for number in range(6)]
    taken: Counter[str] = Counter()
    broken: list[str] = []

    def collect() -> None:
        try:
            figures = gc.collect()
        except OperationalError as busy:  # SQLite has one writer at a time
            if "locked" not in str(busy):
                raise
            return
        taken.update(manifests=figures.manifests, rows=figures.repository_blobs, blobs=figures.blobs)
        time.sleep(0.05)

    start = time.monotonic()

    def seen() -> Counter[str]:
        return sum((Counter(dict(one.seen)) for one in pushers), Counter())

    def is_enough() -> bool:
        counts = [seen()[what] for what in ("pushed", "skipped", "mounted", "deleted")]
        counts += [taken[what] for what in ("manifests", "rows", "blobs")]
        return time.monotonic() - start > (LEAST_SECONDS if min(counts) else MOST_SECONDS)

    acts = [(one.turn, is_enough, one.wrong) for one in pushers] + [(collect, is_enough, broken)] * 2
    threads = [threading.Thread(target=repeat, args=act) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ([line for one in pushers for line in one.wrong], broken) == ([], [])
    assert min(seen()[what] for what in ("pushed", "skipped", "mounted", "deleted")) > 0, seen()
    assert min(taken[what] for what in ("manifests", "rows", "blobs")) > 0, taken

    for name in NAMES:
        for tag in repo(name).tags().json()["tags"]:
            repo(name).delete(tag)
    days_pass()
    gc.collect()
    assert (Manifest.objects.count(), RepositoryBlob.objects.count(), UploadSession.objects.count()) == (0, 0, 0)
    assert (Blob.objects.count(), stored_files()) == (0, [])
