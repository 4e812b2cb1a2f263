"""Recorded webhooks of each vendor (recorded/*.json, in the shapes of their documentation), signed as they sign."""

import base64
import hmac
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from django.test import Client
from django.utils import timezone

from apps.accounts.models import Namespace, User
from apps.contrib.git import hooks
from apps.contrib.git.models import GitRepository

RECORDED = Path(__file__).parent / "recorded"
SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes ...").decode()


@dataclass(frozen=True)
class Hook:
    url: str
    forge: str
    headers: dict[str, str]
    body: bytes

    @classmethod
    def recorded(cls, name: str) -> Self:
        found = json.loads((RECORDED / f"{name}.json").read_bytes())
        return cls(found["url"], found["forge"], found["headers"], json.dumps(found["body"]).encode())

    def changed(self, **fields: Any) -> Self:
        """With other fields at the top of its body."""
        return replace(self, body=json.dumps(json.loads(self.body) | fields).encode())

    def with_headers(self, **headers: str) -> Self:
        return replace(
            self, headers={**self.headers, **{name.replace("_", "-"): text for name, text in headers.items()}}
        )

    def signed(self, secret: str = SECRET) -> Self:
        made = hmac.digest(secret.encode(), self.body, "sha256").hex()
        credentials = base64.b64encode(f"any:{secret}".encode()).decode()
        signature = {
            "github": {"X-Hub-Signature": "sha1=0", "X-Hub-Signature-256": f"sha256={made}"},
            "gitlab": {"X-Gitlab-Token": secret},
            "gitea": {"X-Gitea-Signature": made, "X-Hub-Signature-256": f"sha256={made}"},
            "bitbucket": {"X-Hub-Signature": f"sha256={made}"},
            "azure": {"Authorization": f"Basic {credentials}"},
            "git": {"Authorization": f"Bearer {secret}"},
        }[self.forge]
        if "X-Forgejo-Event" in self.headers:
            signature["X-Forgejo-Signature"] = made
        return replace(self, headers={**self.headers, **signature})

    def signed_as_standard_webhooks(self, secret: str = SECRET, *, age: float = 0) -> Self:
        """GitLab with a signing token."""
        at, number = str(int(time.time() - age)), self.headers["Idempotency-Key"]
        key = base64.b64decode(secret.removeprefix("whsec_"))
        made = base64.b64encode(hmac.digest(key, f"{number}.{at}.".encode() + self.body, "sha256")).decode()
        headers = {"webhook-id": number, "webhook-timestamp": at, "webhook-signature": f"v1,{made}"}
        return replace(self, headers={**self.headers, **headers})


def connected(namespace: Namespace, hook: Hook, **fields: Any) -> GitRepository:
    hook_id = hooks.new_id()
    return GitRepository.objects.create(
        namespace=namespace,
        user=User.objects.create(username=f"git-{hook_id[:10]}"),
        url=hook.url,
        forge=hook.forge,
        hook_id=hook_id,
        sealed_hook_secret=hooks.seal(SECRET, hook_id),
        **{"started_at": timezone.now(), **fields},
    )


def send(repository: GitRepository, hook: Hook) -> Any:
    path = f"{hooks.PATH}{repository.hook_id}"
    headers = {name: text for name, text in hook.headers.items() if name != "Content-Type"}
    kind = hook.headers.get("Content-Type", "application/octet-stream")
    length = str(len(hook.body))
    return Client().generic("POST", path, hook.body, content_type=kind, headers=headers, CONTENT_LENGTH=length)
