"""/namespaces/<ns>/webhooks for owners, and /webhooks (told of every namespace) for operators: the same pages."""

import json
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.html import format_html
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.access import gate, operators
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Namespace, Role
from apps.contrib.webhooks import hooks
from apps.contrib.webhooks.deliveries import listening
from apps.contrib.webhooks.impact import of_webhook
from apps.lib.errors import Conflict, Invalid, NotFound
from apps.lib.net.addresses import MAX_URL_CHARACTERS
from apps.notify.events import EVENTS
from apps.notify.models import Shape, State, Webhook
from apps.portal.frame import one_time_secret, reauthentication
from apps.portal.frame.forms import PlainField, form_page, posted, refusals_on, sentence
from apps.portal.frame.namespace_tabs import frame_of
from apps.portal.frame.page_urls import page_of

PAGE_SIZE = 50
EVENT_LABEL = '<span>{} <span class="mono faint nowrap">{}</span></span>'


class ChangeForm(forms.Form):
    url = PlainField(
        max_length=MAX_URL_CHARACTERS,
        label="URL",
        inputmode="url",
        help_text="https, on a public address. An operator can allow internal networks.",
    )
    events = forms.MultipleChoiceField(
        choices=[(name, format_html(EVENT_LABEL, event.label, name)) for name, event in EVENTS.items()],
        initial=["release.published", "release.deprecated", "release.yanked"],
        widget=forms.CheckboxSelectMultiple,
    )


class WebhookForm(ChangeForm):
    shape = forms.ChoiceField(choices=Shape.choices, initial=Shape.STANDARD, widget=forms.RadioSelect, label="Format")
    field_order = ("url", "shape", "events")


class Place:
    """The webhooks that the path names: of a namespace, or the site-wide ones. Raises what the gate raises."""

    def __init__(self, request: HttpRequest, where: dict[str, Any]) -> None:
        self.viewer = session_viewer(request)
        self.namespace: Namespace | None = None
        self._number = where.get("webhook_id") or where.get("site_webhook_id", 0)
        if "namespace" in where:
            self.namespace = gate.namespace_for(self.viewer, where["namespace"], need=Role.OWNER)
        else:
            operators.require_everywhere(self.viewer, gate.OPERATE)

    def hook(self) -> Webhook:
        return hooks.webhook_of(self.namespace, self._number)

    def url(self, page: str, *numbers: int) -> str:
        """Of the list (`s`), or of a page of one webhook (`-change`); empty for the webhook itself."""
        name = f"portal:{'webhook' if self.namespace else 'site-webhook'}{page}"
        return reverse(name, args=[*([self.namespace.name] if self.namespace else []), *numbers])

    def context(self, hook: Webhook | None = None) -> dict[str, Any]:
        urls = {"list": self.url("s"), "add": self.url("-add")}
        if hook is not None:
            pages = ("change", "rotate", "test", "switch", "delete")
            urls |= {"page": self.url("", hook.pk)} | {page: self.url(f"-{page}", hook.pk) for page in pages}
        return {"namespace": self.namespace, "hook": hook, "urls": urls}

    def leads_to(self, page: str, *numbers: int) -> HttpResponseRedirect:
        return HttpResponseRedirect(self.url(page, *numbers), status=HTTPStatus.SEE_OTHER)


@never_cache
@require_safe
def webhook_list(request: HttpRequest, **where: Any) -> HttpResponse:
    place = Place(request, where)
    rows = [(hook, place.url("", hook.pk)) for hook in hooks.of(place.namespace)]
    context = place.context() | {"hooks": rows}
    if place.namespace is None:
        return render(request, "portal/webhooks/list.html", context)
    return render(request, "portal/webhooks/section.html", context | frame_of(place.namespace, Role.OWNER, "webhooks"))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("secret")
def webhook_add(request: HttpRequest, **where: Any) -> HttpResponse:
    place = Place(request, where)
    form = WebhookForm(posted(request))
    if form.is_valid():
        reauthentication.require(request, "Create the webhook")
        try:
            hook, secret = hooks.create(namespace=place.namespace, actor=place.viewer, **form.cleaned_data)
        except (Conflict, Invalid) as refusal:
            form.add_error("url" if isinstance(refusal, Invalid) else None, sentence(refusal))
        else:
            return one_time_secret.redirect_to(request, place.url("-secret", hook.pk), secret)
    return form_page(request, "portal/webhooks/form.html", form, **place.context())


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def webhook_change(request: HttpRequest, **where: Any) -> HttpResponse:
    place = Place(request, where)
    hook = place.hook()
    form = ChangeForm(posted(request), initial={"url": hook.url, "events": hook.events})
    if form.is_valid():
        reauthentication.require(request, "Change the webhook")
        with refusals_on(form, "url"):
            hooks.change(hook=hook, actor=place.viewer, **form.cleaned_data)
            messages.success(request, "Webhook saved.")
            return place.leads_to("", hook.pk)
    return form_page(request, "portal/webhooks/form.html", form, **place.context(hook))


@never_cache
@require_safe
def webhook_page(request: HttpRequest, **where: Any) -> HttpResponse:
    """The webhook and the log of its deliveries."""
    place = Place(request, where)
    hook = place.hook()
    page = page_of(hooks.deliveries_of(hook).defer("body", "answer"), request, size=PAGE_SIZE)
    rows = [(delivery, place.url("-delivery", hook.pk, delivery.pk)) for delivery in page.object_list]
    return render(request, "portal/webhooks/page.html", place.context(hook) | {"page": page, "deliveries": rows})


@sensitive_variables("secret")
@require_safe
def webhook_secret(request: HttpRequest, **where: Any) -> HttpResponse:
    """Show a new secret once."""
    place = Place(request, where)
    context = place.context(place.hook()) | {"secret": one_time_secret.reveal(request)}
    return one_time_secret.clear(request, render(request, "portal/webhooks/secret.html", context))


@require_POST
@sensitive_variables("secret")
def webhook_rotate(request: HttpRequest, **where: Any) -> HttpResponse:
    place = Place(request, where)
    hook = place.hook()
    reauthentication.require(request, "Rotate the secret of the webhook")
    secret = hooks.rotate(hook=hook, actor=place.viewer)
    return one_time_secret.redirect_to(request, place.url("-secret", hook.pk), secret)


@require_POST
def webhook_test(request: HttpRequest, **where: Any) -> HttpResponse:
    place = Place(request, where)
    hook = place.hook()
    try:
        hooks.test(hook=hook, actor=place.viewer)
    except Conflict as refusal:
        messages.error(request, sentence(refusal))
    else:
        messages.success(request, "A worker sends the test within seconds. Reload this page to see how it ended.")
    return place.leads_to("", hook.pk)


@require_POST
def webhook_switch(request: HttpRequest, **where: Any) -> HttpResponse:
    """Off if it is on, and the other way round; `on` says what the button showed."""
    place = Place(request, where)
    hook = place.hook()
    enabled = request.POST.get("on") == "1"
    hooks.change(hook=hook, actor=place.viewer, enabled=enabled)
    messages.success(request, f"The webhook is switched {'on' if enabled else 'off'}.")
    return place.leads_to("", hook.pk)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def webhook_delete(request: HttpRequest, **where: Any) -> HttpResponse:
    place = Place(request, where)
    hook = place.hook()
    if request.method != "POST":
        return render(request, "portal/webhooks/delete.html", {**place.context(hook), "effects": of_webhook(hook)})
    hooks.delete(hook=hook, actor=place.viewer)
    messages.success(request, f"The webhook to {hook.host} is deleted.")
    return place.leads_to("s")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def webhook_delivery(request: HttpRequest, **where: Any) -> HttpResponse:
    """Show a request and its answer; a POST sends it again."""
    place = Place(request, where)
    hook = place.hook()
    number = where.get("delivery_id") or where.get("site_delivery_id", 0)
    delivery = hooks.deliveries_of(hook).select_related("webhook__namespace").filter(pk=number).first()
    if delivery is None:
        raise NotFound("This webhook has no such delivery.", hint="See the webhook's log.")
    if request.method != "POST":
        body = json.dumps(json.loads(delivery.body), ensure_ascii=False, indent=2)
        context = place.context(hook) | {
            "delivery": delivery,
            "body": body,
            "is_waiting": delivery.state == State.WAITING,
        }
        return render(request, "portal/webhooks/delivery.html", context)
    try:
        hooks.redeliver(delivery=delivery, actor=place.viewer)
    except Conflict as refusal:
        messages.error(request, sentence(refusal))
    else:
        messages.success(request, "A worker sends it again within seconds. Reload this page to see how it ended.")
    return place.leads_to("", hook.pk)


def recipients(_: Viewer, namespace: Namespace) -> dict[str, Any]:
    """Return the values of portal/webhooks/recipients.html, a section of the page that writes to users."""
    return {"namespace": namespace, "count": len(listening(namespace, "usage.notified"))}


def _routes(prefix: str, name: str, number: str, delivery: str) -> list[Any]:
    one = f"{prefix}/<int:{number}>"
    return [
        path(prefix, webhook_list, name=f"{name}s"),
        path(f"{prefix}/add", webhook_add, name=f"{name}-add"),
        path(one, webhook_page, name=name),
        path(f"{one}/change", webhook_change, name=f"{name}-change"),
        path(f"{one}/secret", webhook_secret, name=f"{name}-secret"),
        path(f"{one}/rotate", webhook_rotate, name=f"{name}-rotate"),
        path(f"{one}/test", webhook_test, name=f"{name}-test"),
        path(f"{one}/switch", webhook_switch, name=f"{name}-switch"),
        path(f"{one}/delete", webhook_delete, name=f"{name}-delete"),
        path(f"{one}/deliveries/<int:{delivery}>", webhook_delivery, name=f"{name}-delivery"),
    ]


urlpatterns = [
    *_routes("namespaces/<str:namespace>/webhooks", "webhook", "webhook_id", "delivery_id"),
    *_routes("webhooks", "site-webhook", "site_webhook_id", "site_delivery_id"),
]
