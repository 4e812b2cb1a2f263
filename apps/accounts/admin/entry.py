"""Admin page of one account on which an operator sets a new password or ends sessions."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.forms import SetPasswordForm
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters

from apps.accounts.admin.actors import actor_of
from apps.accounts.identity import sessions
from apps.accounts.models import User
from apps.accounts.people import accounts
from apps.admin_base import LarderAdmin
from apps.lib.errors import RegistryError


class EntryPage(LarderAdmin[User]):
    """Adds the page `<id>/entry/`, linked from the account's page."""

    change_form_template = "admin/person.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.entry_view)
        return [path("<path:object_id>/entry/", view, name="accounts_user_entry"), *super().get_urls()]

    @method_decorator(sensitive_post_parameters("new_password1", "new_password2"))
    def entry_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        user = self.get_object(request, unquote(object_id))
        if user is None:
            raise Http404
        if not self.has_change_permission(request, user):
            raise PermissionDenied
        ends = "end_sessions" in request.POST
        form: SetPasswordForm[User] = SetPasswordForm(user, request.POST if request.POST and not ends else None)
        if ends:
            count = sessions.end_for(user=user, actor=actor_of(request))
            self.message_user(request, f"Sessions ended: {count}.", messages.SUCCESS)
            return HttpResponseRedirect(request.path)
        if form.is_valid() and self._set(request, user, form):
            self.message_user(request, f"{user} has a new password and is signed out everywhere.", messages.SUCCESS)
            return HttpResponseRedirect(reverse("admin:accounts_user_change", args=[user.pk]))
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": f"Password and sessions: {user}",
            "opts": self.opts,
            "original": user,
            "form": form,
            "sessions": sessions.sessions_of(user),
        }
        return TemplateResponse(request, "admin/entry.html", context)

    def _set(self, request: HttpRequest, user: User, form: forms.Form) -> bool:
        try:
            accounts.set_password(user=user, actor=actor_of(request), password=form.cleaned_data["new_password1"])
        except RegistryError as refusal:
            form.add_error(None, f"{refusal} {refusal.hint}")
            return False
        return True
