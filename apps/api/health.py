"""/api/v1/modules/…/health: how well the default version of a module is described and pinned."""

from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.frame import upkeep
from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation
from apps.lib.addresses import ModuleAddress
from apps.modules.catalogue.reading import default_version_for
from apps.modules.health import RULES, Point, health_of


def point_document(point: Point) -> dict[str, Any]:
    return {
        "code": point.code,
        "gained": point.gained,
        "rule": point.sentence,
        "found": point.found,
        "hint": point.hint,
    }


class ModuleHealth(ApiView):
    """Advice: no score keeps anybody from anything."""

    http_method_names = ["get", "head"]

    @operation("Show the health of a module", answers={200: upkeep.ModuleHealth}, public=True)
    def get(self, request: Request, namespace: str, name: str, system: str) -> Response:  # noqa: ARG002
        version = default_version_for(self.viewer, ModuleAddress(namespace, name, system))
        health = health_of(version)
        return Response(
            {
                "namespace": version.module.namespace.name,
                "name": version.module.name,
                "system": version.module.system,
                "version": version.release.version,
                "score": health.score if health else None,
                "total": len(RULES),
                "points": [point_document(point) for point in health.points] if health else [],
            }
        )


urlpatterns = [
    path(
        "modules/<segment:namespace>/<segment:name>/<segment:system>/health",
        ModuleHealth.as_view(),
        name="module-health",
    ),
]
