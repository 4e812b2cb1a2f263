"""The repositories that the routes name: one in each namespace, with a refused tag. Nothing is fetched."""

import hmac
import json

from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.contrib.git import connecting, hooks
from apps.contrib.git.models import GitRepository, Tag, Verdict

RULES = [{"tag": "v{version}", "folder": "", "module": "vpc/aws"}]
NOWHERE = {"repository_id": 0, "hook_id": "h" * 43, "tag_id": 0}
SECRET = "whsec_of-the-scenario"
PING = json.dumps({"repository": {"full_name": "acme/vpc"}, "zen": "Keep it small."})
_JSON = "application/json"


def place(namespace, users):
    owner = Viewer(users["dora"])
    made = connecting.connect(namespace=namespace, actor=owner, url="https://github.com/acme/vpc", rules=RULES)
    row, now, hook_id = made.repository, timezone.now(), f"hook-of-{namespace.name}"
    GitRepository.objects.filter(pk=row.pk).update(
        started_at=now, fetched_at=now, hook_id=hook_id, sealed_hook_secret=hooks.seal(SECRET, hook_id)
    )
    tag = Tag.objects.create(
        repository=row,
        name="v2.0.0",
        module="vpc/aws",
        version="2.0.0",
        commit="1" * 40,
        verdict=Verdict.REFUSED,
        code="lfs_pointer",
        reason="A file is stored in Git LFS.",
        seen_at=now,
        changed_at=now,
    )
    return {"repository_id": row.pk, "hook_id": hook_id, "tag_id": tag.pk}


def bodies():
    texts = {
        ("api:repositories", "POST"): {"url": "https://gitlab.com/acme/network", "rules": RULES},
        ("api:repository", "PATCH"): {"poll_minutes": 30},
        ("api:repository-preview", "POST"): {},
        ("api:repository-sync", "POST"): {},
        ("api:repository-tag-retry", "POST"): {"tag": "v2.0.0"},
        ("api:repository-host-keys", "POST"): {"fingerprints": ["SHA256:none"]},
    }
    signature = f"sha256={hmac.digest(SECRET.encode(), PING.encode(), 'sha256').hex()}"
    ping = {
        "data": PING.encode(),
        "content_type": _JSON,
        "headers": {"X-Hub-Signature-256": signature, "X-GitHub-Event": "ping"},
    }
    forms = {
        ("portal:git-connect", "POST"): {"url": "https://gitlab.com/acme/network", "kind": "none"},
        ("portal:git-change", "POST"): {"poll_minutes": "30", "submodules": "refuse"},
        ("portal:git-credential", "POST"): {"kind": "token", "password_token": "of-the-scenario"},
    }
    return {case: {"data": json.dumps(body), "content_type": _JSON} for case, body in texts.items()} | {
        ("api:git-hook", "POST"): ping,
        **{case: {"data": form} for case, form in forms.items()},
    }
