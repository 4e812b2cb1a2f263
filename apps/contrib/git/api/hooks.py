"""POST /api/v1/git-hooks/<hook_id>: where forges tell of pushes."""

from django.urls import path
from django.views.decorators.debug import sensitive_variables
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField

from apps.accounts.identity.sign_ins import address_of
from apps.api.frame.base import ApiView, operation
from apps.api.frame.shapes import Shape
from apps.contrib.git import hooks
from apps.lib.digests import counted
from apps.lib.net.bodies import chunks


class GitHook(Shape):
    event = CharField(help_text="Name of the event in the forge.")
    is_listing = BooleanField(help_text="Accepted: Larder lists the tags now.")


class GitHooks(ApiView):
    """No token: the forge proves who it is by the webhook's secret."""

    authentication_classes = []

    @operation(
        "Receive a webhook of a Git server",
        takes="application/json",
        answers={200: GitHook},
        errors={
            401: "The signature does not match the secret of this webhook.",
            404: "No connected repository has this URL.",
            409: "This webhook was received before, or the repository is suspended.",
            413: "The body is larger than 1 MiB.",
            422: "The body is about another repository, or is not JSON.",
        },
        limits=["tokens"],
        again="409; each webhook counts once.",
        scope=None,
        public=True,
    )
    @sensitive_variables("body")
    def post(self, request: Request, hook_id: str) -> Response:
        """200 for every genuine webhook of the repository. Polling finds the same tags later."""
        limit = hooks.MAX_BODY_BYTES
        body = b"".join(counted(chunks(request.META), limit=limit, what="The webhook's body"))
        received = hooks.receive(
            hook_id=hook_id, headers=dict(request.headers.items()), body=body, address=address_of(request)
        )
        answer = {"event": received.event, "is_listing": received.is_listing}
        return self.answer(answer, headers={"Cache-Control": "no-store"})


urlpatterns = [path("git-hooks/<str:hook_id>", GitHooks.as_view(), name="git-hook")]
