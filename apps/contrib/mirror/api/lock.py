"""/api/v1/lock: complete lock files, for own and mirrored providers."""

from http import HTTPStatus
from typing import Any

from django.urls import path, reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, ChoiceField, IntegerField, UUIDField

from apps.accounts.identity.sign_ins import address_of
from apps.api.frame.base import ApiView, operation
from apps.api.frame.shapes import MomentField, Shape
from apps.contrib.mirror.ahead import lock_requests, locking
from apps.contrib.mirror.models import LockRun, RunState
from apps.lib.formats.lock_files import Client, LockFile
from apps.lib.hcl import texts

STATES = (RunState.RUNNING, RunState.DONE, RunState.FAILED)
RETRY_AFTER = "1"


class LockInput(serializers.Serializer[Any]):
    lock = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        max_length=texts.MAX_BYTES,
        help_text="The text of a .terraform.lock.hcl file.",
    )
    required_providers = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        max_length=texts.MAX_BYTES,
        help_text="A terraform block, a required_providers block, or its entries.",
    )
    platforms = serializers.ListField(
        child=serializers.CharField(max_length=60),
        allow_empty=False,
        max_length=lock_requests.MAX_PLATFORMS,
        help_text="Such as linux_amd64.",
    )
    client = serializers.ChoiceField(
        required=False,
        choices=list(Client),
        help_text="Client to assume if the lock file does not say. The default is tofu.",
    )


class Lock(Shape):
    lock = CharField(source="*", help_text="The finished .terraform.lock.hcl.")

    def lock_of(self, found: LockFile) -> str:
        return str(found)


class LockJob(Shape):
    # Of a LockRun.
    id = UUIDField(source="public_id")
    state = ChoiceField(choices=list(STATES))
    planned = IntegerField(help_text="Number of packages: one for each provider and platform.")
    done = IntegerField(help_text="Packages.")
    lock = CharField(allow_null=True, help_text="The finished .terraform.lock.hcl.")
    problem = CharField(allow_null=True, help_text="Why it failed.")
    created_at = MomentField()
    ended_at = MomentField(allow_null=True)

    def lock_of(self, run: LockRun) -> str | None:
        return run.lock or None

    def problem_of(self, run: LockRun) -> str | None:
        return run.problem or None


class LockFiles(ApiView):
    @operation(
        "Complete a lock file for several platforms",
        takes=LockInput,
        answers={200: Lock, 202: LockJob},
        errors={
            403: "Policy or trust refuses a version. The text names the rule.",
            503: "A registry is unavailable, and Larder has not stored what was requested.",
        },
        limits=["fetch"],
        again="The same answer, or 200 once it is finished.",
        scope="read",
        public=True,
    )
    def post(self, request: Request) -> Response:
        """The same bytes as `providers lock` of the client writes, for own and mirrored providers: h1 and zh for
        every platform. Send `lock`, `required_providers` or both. 202 where packages must be fetched first: its
        Location has the progress, and the file in the end.
        """
        fields = self.body()
        asked = lock_requests.read(
            lock=fields.get("lock", ""),
            required_providers=fields.get("required_providers", ""),
            platforms=fields["platforms"],
            client=fields.get("client", ""),
        )
        found = locking.lock(asked, viewer=self.viewer, client=address_of(request))
        if isinstance(found, LockFile):
            return self.answer(found)
        headers = {"Location": reverse("api:lock-job", args=[found.public_id]), "Retry-After": RETRY_AFTER}
        return self.answer(found, HTTPStatus.ACCEPTED, headers=headers)


class LockJobView(ApiView):
    @operation("Show the progress of a lock file, and the file", answers={200: LockJob}, scope="read", public=True)
    def get(self, request: Request, lock_id: str) -> Response:  # noqa: ARG002
        """Only for the account that asked; where no account did, its id is the key. Kept for a day."""
        run = locking.run_for(self.viewer, lock_id)
        headers = {} if run.state in (RunState.DONE, RunState.FAILED) else {"Retry-After": RETRY_AFTER}
        return self.answer(run, headers=headers)


urlpatterns = [
    path("lock", LockFiles.as_view(), name="lock"),
    path("lock/<segment:lock_id>", LockJobView.as_view(), name="lock-job"),
]
