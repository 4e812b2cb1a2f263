"""/how-to-use: how clients, pipelines and people reach this very Larder, with a check of a pasted token."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_http_methods


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def how_to(request: HttpRequest) -> HttpResponse:
    return render(request, "portal/how_to/page.html")


urlpatterns = [path("how-to-use", how_to, name="how-to")]
