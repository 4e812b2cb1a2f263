"""The tree of a follower is the leader's, whatever happens on the way."""

import json
import os
import time
from datetime import UTC, datetime
from math import inf

import pytest
from django.utils import timezone

from apps.contrib.copy import monitoring
from apps.contrib.copy.follower import fetching, trusting
from apps.contrib.copy.follower import leader as asking
from apps.contrib.copy.settings_values import Follow
from apps.contrib.copy.tests import leaders
from apps.contrib.copy.tree import layout

VERSIONS = "public/v1/modules/demo/vpc/aws/versions"
ARCHIVE = "public/packages/modules/demo/vpc/aws/{}.zip"
PRIVATE = "private/packages/modules/acme/vpc/aws/1.0.0.zip"


def tree():
    """The files that readers can get, by path."""
    root = trusting.root()
    sides = [root / side for side in ("public", "private")]
    return {
        str(path.relative_to(root)): path.read_bytes() for side in sides for path in side.rglob("*") if path.is_file()
    }


def of(leader):
    return {path: data for path, data in leader.served.items() if not path.startswith("manifest")}


def followed():
    fetching.follow()
    return trusting.read_state()


def listed():
    return [one["version"] for one in json.loads(tree()[VERSIONS])["modules"][0]["versions"]]


def test_a_follower_has_what_the_leader_has(leader):
    assert followed()["error"] == ""
    assert tree() == of(leader)
    assert {(trusting.root() / path).stat().st_mode & 0o007 for path in of(leader) if path.startswith("private")} == {0}
    leader.module("demo/vpc/aws", "1.0.0", "1.1.0")
    leader.module("acme/vpc/aws")
    leader.module("demo/dns/aws", "0.1.0")
    leader.publish()
    before = leader.count("demo/vpc/aws/1.0.0.zip")
    state = followed()
    assert (state["error"], state["missing"], state["sequence"]) == ("", 0, 2)
    assert tree() == of(leader)
    assert leader.count("demo/vpc/aws/1.0.0.zip") == before == 1
    asked = len(leader.asked)
    assert followed()["complete_at"] > state["complete_at"]
    assert len(leader.asked) == asked + 1


def test_what_becomes_private_leaves_the_public_folder_without_being_fetched_again(leader):
    followed()
    leader.module("demo/vpc/aws", "1.0.0", is_public=False)
    leader.publish()
    followed()
    assert tree() == of(leader)
    assert VERSIONS not in tree()
    assert leader.count("demo/vpc/aws/1.0.0.zip") == 1
    assert not list((trusting.root() / "incoming").iterdir())


def test_a_link_that_breaks_in_the_middle_of_a_blob_continues_there(leader):
    followed()
    leader.module("demo/big/aws", "1.0.0", archive=os.urandom(300_000))
    leader.publish()
    leader.breaks_after = 100_000
    assert "the body ended after 100,000 of 300,005 bytes" in followed()["error"]
    assert json.loads(tree()[VERSIONS.replace("vpc", "big")])["modules"][0]["versions"] == []
    assert followed()["error"] == ""
    assert tree() == of(leader)
    assert "bytes=100000-" in [wanted for _, wanted in leader.asked]


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_withdrawal_does_not_wait_for_the_bytes_of_another_version(leader, monkeypatch, is_broken):
    leader.module("demo/vpc/aws", "1.0.0", "1.1.0")
    leader.publish()
    followed()
    leader.module("demo/vpc/aws", "1.1.0", "2.0.0")
    leader.publish()

    def away(*_):
        raise asking.LeaderAway("it is away")

    with monkeypatch.context() as during:
        during.setattr(fetching._Pass, "_fetch", away)
        followed()
    assert listed() == ["1.1.0"]
    assert ARCHIVE.format("1.0.0") not in tree()
    if is_broken:  # and the leader takes 2.0.0 back before it was here
        leader.module("demo/vpc/aws", "1.1.0")
        leader.publish()
    followed()
    assert tree() == of(leader)


def test_a_pass_that_died_leaves_nothing_that_the_next_one_does_not_know(leader, monkeypatch):
    followed()
    leader.module("demo/vpc/aws", "1.0.0", "2.0.0")
    leader.publish()

    class Died(BaseException):
        pass

    def dies(_self, _change, without):
        if not without:
            raise Died

    with monkeypatch.context() as during:
        during.setattr(fetching._Pass, "_write_documents", dies)
        with pytest.raises(Died):
            fetching.follow()
    assert ARCHIVE.format("2.0.0") in tree()
    leader.module("demo/vpc/aws", "1.0.0")
    leader.publish()
    followed()
    assert tree() == of(leader)


def test_a_delay_of_50_ms_is_no_obstacle(leader):
    for number in range(40):
        leader.module(f"demo/m{number}/aws", "1.0.0")
    leader.publish()
    leader.delay = 0.05
    began = time.monotonic()
    assert followed()["error"] == ""
    assert tree() == of(leader)
    # 42 addresses of 3 files and 2 documents of the manifest, one after the other, would take 10 s.
    assert time.monotonic() - began < 5


def test_a_long_pass_ends_when_the_leader_changes_something(leader, monkeypatch):
    followed()
    leader.module("demo/vpc/aws", "1.0.0", "2.0.0")
    leader.publish()
    monkeypatch.setattr(fetching, "LOOK_SECONDS", 0)
    original = fetching._Pass._look

    def look(self):
        leader.module("demo/vpc/aws", "2.0.0")
        leader.publish()
        monkeypatch.setattr(fetching._Pass, "_look", original)
        original(self)

    monkeypatch.setattr(fetching._Pass, "_look", look)
    assert followed()["error"] == ""
    followed()
    assert tree() == of(leader)


def garbage(leader):
    leader.served[layout.MANIFEST] = b"<html>"
    return "manifest.dsse has no JSON"


def another_key(leader):
    leader.key, old = leaders.Key(), leader.key
    leader.publish()
    return f"is signed by the key {leader.key.id}, expected {old.id}"


def a_forged_signature(leader):
    leader.publish(key=leaders.Key())
    document = json.loads(leader.served[layout.MANIFEST])
    document["signatures"][0]["keyid"] = leader.key.id
    leader.served[layout.MANIFEST] = json.dumps(document).encode()
    return "it was changed"


def another_registry(leader):
    leader.publish(registry="https://other.example.com")
    return "of https://other.example.com, expected"


def an_older_manifest(leader):
    leader.publish(sequence=0)
    return "it is an older one"


def no_tree(leader):
    leader.served = {}
    return "answered 404, expected 200. The leader has no static copy"


def a_path_that_leaves_the_folder(leader):
    is_public, files = leader.addresses["modules/demo/vpc/aws"]
    leader.addresses["modules/demo/vpc/aws"] = (is_public, files | {"packages/../../../evil": b""})
    leader.publish()
    return "does not belong to a static copy"


def other_bytes(leader):
    leader.module("demo/vpc/aws", "1.0.0", "1.1.0")
    leader.publish()
    leader.served[ARCHIVE.format("1.1.0")] = b"archive of 9.9.9"
    return "has the digest"


BAD = [
    *(garbage, another_key, a_forged_signature, another_registry, an_older_manifest, no_tree),
    *(a_path_that_leaves_the_folder, other_bytes),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.__name__)
def test_what_the_follower_may_not_take_changes_nothing_and_is_told(leader, bad):
    followed()
    before = tree()
    expected = bad(leader)
    assert expected in followed()["error"]
    assert tree() == before


def test_the_key_of_the_settings_counts_from_the_first_manifest_on(leader, settings):
    settings.FOLLOW = Follow(url=leader.url, token="staff", key_ids=("ab" * 32,))
    assert f"expected {'ab' * 32}" in followed()["error"]
    assert tree() == {}
    settings.FOLLOW = Follow(url=leader.url, token="staff", key_ids=(leader.key.id,))
    assert followed()["error"] == ""


def test_without_a_token_of_staff_nothing_is_given(leader, settings):
    settings.FOLLOW = Follow(url=leader.url, token="guest")
    assert "answered 401, expected 200. LARDER_FOLLOW_TOKEN_FILE" in followed()["error"]


def test_the_leader_goes_away_and_the_tree_stays(leader, monkeypatch, db):
    assert (monitoring.follower_behind(), monitoring.part_states()) == (inf, {"leader": False})
    followed()
    assert [state for state, _, _ in monitoring.look_at_leader()] == ["ok"]
    before = tree()
    leader.is_away = True
    assert "answered 503" in followed()["error"]
    assert tree() == before
    [(state, found, _)] = monitoring.look_at_leader()
    assert (state, "answered 503" in found) == ("fail", True)
    assert {one.name: one.samples[0].value > 0 for one in monitoring.families()} == {
        "larder_follower_behind_seconds": True,
        "larder_follower_failing": True,
    }
    assert monitoring.part_states() == {"leader": True}
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + monitoring.LATE)
    assert monitoring.part_states() == {"leader": False}
