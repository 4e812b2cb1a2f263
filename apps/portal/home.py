"""/: what is new, and what to do next."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from apps.accounts.access import Viewer
from apps.accounts.authentication import session_viewer
from apps.accounts.models import Grant, User
from apps.modules.models import ModuleVersion
from apps.modules.reading import visible_modules

RECENT = 8
NAMESPACES = 12


@login_not_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    context = {"recent": list(recently_published(viewer)[:RECENT]), "module_count": visible_modules(viewer).count()}
    if viewer.user is None:
        return render(request, "portal/home/visitor.html", context)
    grants = list(grants_of(viewer.user)[: NAMESPACES + 1])
    context |= {"grants": grants[:NAMESPACES], "more_grants": len(grants) > NAMESPACES}
    context["may_create"] = viewer.user.is_staff or settings.NAMESPACE_CREATION == "members"
    if not context["module_count"]:
        context["has_token"] = viewer.user.api_tokens.exists()
    return render(request, "portal/home/member.html", context)


def recently_published(viewer: Viewer) -> QuerySet[ModuleVersion]:
    """Newest first. The README and the list of files stay in the database: they can be large and are not shown."""
    visible = ModuleVersion.objects.filter(module__in=visible_modules(viewer))
    rows = visible.select_related("module__namespace", "release__created_by").defer("readme_html", "files")
    return rows.order_by("-release__published_at", "-pk")


def grants_of(user: User) -> QuerySet[Grant]:
    mine = Grant.objects.filter(user=user).select_related("namespace")
    return mine.annotate(modules=Count("namespace__modules")).order_by("namespace__name", "pk")


urlpatterns = [
    path("", home, name="home"),
]
