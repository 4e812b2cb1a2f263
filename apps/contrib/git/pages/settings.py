"""/namespaces/<ns>/git/<number>/change for owners: how often it is polled, submodules, the webhook, the end of it."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.contrib.git import connecting, forges, hooks
from apps.contrib.git.models import Submodules
from apps.contrib.git.pages import frame
from apps.contrib.git.pages.frame import place_of
from apps.contrib.git.remote import remotes
from apps.portal.frame import one_time_secret, reauthentication
from apps.portal.frame.forms import form_page, posted, refusals_on
from apps.portal.frame.page_urls import see_other
from apps.releases.lifecycle.access_impact import of_machine


class SettingsForm(forms.Form):
    poll_minutes = forms.IntegerField(
        min_value=1,
        max_value=connecting.MAX_POLL_MINUTES,
        label="Look for new tags every (minutes)",
        help_text="A webhook makes it immediate; without one, this is how late a tag can be.",
    )
    submodules = forms.ChoiceField(
        choices=Submodules.choices,
        widget=forms.RadioSelect,
        label="If the folder of a module has Git submodules",
        help_text="Submodules on the same server are fetched with this credential, others without one. Left out, their "
        "folders are empty, as in an archive of the forge.",
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, namespace: str, repository_id: int) -> HttpResponse:
    place = place_of(request, namespace)
    repository = place.repository(repository_id)
    initial = {name: getattr(repository, name) for name in SettingsForm.base_fields}
    form = SettingsForm(posted(request), initial=initial)
    if form.is_valid():
        with refusals_on(form):
            connecting.change(repository=repository, actor=place.viewer, **form.cleaned_data)
            messages.success(request, "Saved.")
            return see_other("git-repository", place.namespace.name, repository.pk)
    context = place.context(repository) | {
        "rules": repository.rules.order_by("position"),
        "hook_url": hooks.url_of(repository),
    }
    return form_page(request, "portal/sources/change.html", form, **context)


@require_POST
@sensitive_variables("secret")
def hook_renew(request: HttpRequest, namespace: str, repository_id: int) -> HttpResponse:
    place = place_of(request, namespace)
    repository = place.repository(repository_id)
    reauthentication.require(request, f"Create a webhook secret for {frame.short_name(repository.url)}")
    secret = connecting.renew_hook_secret(repository=repository, actor=place.viewer)
    page = reverse("portal:git-hook-secret", args=[place.namespace.name, repository.pk])
    return one_time_secret.redirect_to(request, page, secret)


@sensitive_variables("secret")
@require_safe
def hook_secret(request: HttpRequest, namespace: str, repository_id: int) -> HttpResponse:
    """Show a new secret once."""
    place = place_of(request, namespace)
    repository = place.repository(repository_id)
    where, link = forges.where_to_hook(repository.forge, remotes.parse(repository.url))
    context = place.context(repository) | {
        "secret": one_time_secret.reveal(request),
        "hook_url": hooks.url_of(repository),
        "where": where,
        "link": link,
    }
    return one_time_secret.clear(request, render(request, "portal/sources/secret.html", context))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def disconnect(request: HttpRequest, namespace: str, repository_id: int) -> HttpResponse:
    place = place_of(request, namespace)
    repository = place.repository(repository_id)
    if request.method != "POST":
        context = {**place.context(repository), "effects": of_machine(repository.user)}
        return render(request, "portal/sources/disconnect.html", context)
    reauthentication.require(request, f"Disconnect {frame.short_name(repository.url)}")
    connecting.disconnect(repository=repository, actor=place.viewer)
    messages.success(request, f"{frame.short_name(repository.url)} is disconnected. Its releases stay.")
    return see_other("git-repositories", place.namespace.name)


_ONE = "namespaces/<str:namespace>/git/<int:repository_id>"

urlpatterns = [
    path(f"{_ONE}/change", change, name="git-change"),
    path(f"{_ONE}/webhook/renew", hook_renew, name="git-hook-renew"),
    path(f"{_ONE}/webhook/secret", hook_secret, name="git-hook-secret"),
    path(f"{_ONE}/disconnect", disconnect, name="git-disconnect"),
]
