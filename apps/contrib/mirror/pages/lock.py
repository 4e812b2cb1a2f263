"""/lock: complete a lock file for several platforms, and its progress. For everyone, with or without an account."""

from http import HTTPStatus
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.identity.sessions import session_viewer
from apps.accounts.identity.sign_ins import address_of
from apps.contrib.mirror.ahead import lock_requests, locking
from apps.contrib.mirror.models import RunState
from apps.lib.errors import NotFound, RegistryError
from apps.lib.formats.lock_files import Client, LockFile
from apps.lib.hcl import texts
from apps.portal.frame.form_files import STATUS
from apps.portal.frame.forms import PLAIN, form_page, posted, sentence
from apps.portal.frame.page_urls import see_other

COMMON = ("linux_amd64", "linux_arm64", "darwin_arm64", "darwin_amd64", "windows_amd64")
FILE_NAME = ".terraform.lock.hcl"
CLIENTS = [
    ("", "As the lock file says, otherwise OpenTofu"),
    (Client.TOFU, "OpenTofu"),
    (Client.TERRAFORM, "Terraform"),
]
AREA = PLAIN | {"rows": "8", "class": "mono"}


class PlatformsField(forms.CharField):
    """Further platforms, between spaces or commas."""

    def clean(self, value: str) -> list[str]:
        return str(super().clean(value)).replace(",", " ").split()


class LockForm(forms.Form):
    lock = forms.CharField(
        label="Lock file",
        required=False,
        strip=False,
        max_length=texts.MAX_BYTES,
        widget=forms.Textarea(AREA),
        help_text="The text of <code>.terraform.lock.hcl</code>. Its versions and hashes are kept.",
    )
    required_providers = forms.CharField(
        label="Required providers",
        required=False,
        strip=False,
        max_length=texts.MAX_BYTES,
        widget=forms.Textarea(AREA),
        help_text="A <code>terraform</code> block, or what is in its <code>required_providers</code>.",
    )
    platforms = forms.MultipleChoiceField(
        choices=[(platform, platform) for platform in COMMON],
        required=False,
        initial=["linux_amd64", "darwin_arm64"],
        widget=forms.CheckboxSelectMultiple,
    )
    more = PlatformsField(
        label="More platforms",
        required=False,
        max_length=500,
        widget=forms.TextInput(PLAIN),
        help_text="For example <code>freebsd_amd64</code>. Separate several with spaces.",
    )
    client = forms.ChoiceField(label="Client", choices=CLIENTS, required=False)


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def lock(request: HttpRequest) -> HttpResponse:
    form = LockForm(posted(request))
    if not form.is_valid():
        return form_page(request, "portal/upstream/lock.html", form)
    viewer, fields = session_viewer(request), form.cleaned_data
    try:
        asked = lock_requests.read(
            lock=fields["lock"],
            required_providers=fields["required_providers"],
            platforms=[*fields["platforms"], *fields["more"]],
            client=fields["client"],
        )
        found = locking.lock(asked, viewer=viewer, client=address_of(request))
    except RegistryError as refusal:
        form.add_error(None, sentence(refusal))
        status = STATUS.get(refusal.code, HTTPStatus.UNPROCESSABLE_ENTITY)
        # 401 would send browsers to the sign-in page with what was entered lost.
        status = HTTPStatus.UNPROCESSABLE_ENTITY if status == HTTPStatus.UNAUTHORIZED else status
        return render(request, "portal/upstream/lock.html", {"form": form}, status=status)
    run = locking.ended_run(asked, found, viewer=viewer) if isinstance(found, LockFile) else found
    return see_other("lock-run", run.public_id)


@login_not_required
@never_cache
@require_safe
def lock_run(request: HttpRequest, lock_id: UUID) -> HttpResponse:
    run = locking.run_for(session_viewer(request), lock_id)
    asked = run.request
    context = {
        "run": run,
        "is_running": run.state in (RunState.PLANNING, RunState.RUNNING),
        "problems": run.problem.splitlines(),
        "platforms": asked["platforms"],
        "providers": list(asked["required"]),
        "file_name": FILE_NAME,
    }
    return render(request, "portal/upstream/lock_run.html", context)


@login_not_required
@never_cache
@require_safe
def lock_file(request: HttpRequest, lock_id: UUID) -> HttpResponse:
    run = locking.run_for(session_viewer(request), lock_id)
    if not run.lock:
        raise NotFound("This lock file is not finished.", hint="Its page shows the progress.")
    headers = {"Content-Disposition": f'attachment; filename="{FILE_NAME}"'}
    return HttpResponse(run.lock, content_type="text/plain; charset=utf-8", headers=headers)


urlpatterns = [
    path("lock", lock, name="lock"),
    path("lock/<uuid:lock_id>", lock_run, name="lock-run"),
    path("lock/<uuid:lock_id>/file", lock_file, name="lock-file"),
]
