"""The WSGI application, for granian or any WSGI server behind a proxy (D2)."""

from importlib import import_module

from django.conf import settings
from django.urls import get_resolver

from registry_site.env import use_settings
from registry_site.server.forwarded import TrustedProxyHeaders
from registry_site.startup import die_with_parent

die_with_parent.arm()
use_settings()
application = TrustedProxyHeaders(import_module("registry_site.server.handler").handler)
# Apps are loaded. Django collects all routes when one is first asked for, 40 ms that would be of somebody's `init`.
get_resolver().reverse_dict  # noqa: B018  # a property
# Background writers of the rooms.
for start in import_module("apps.room").all_of("starts"):
    start()
# Counts for /metrics, which all processes of this host share.
import_module("registry_site.monitoring.sharing").start()
import_module("registry_site.monitoring.public_certificate").watch.start()
if settings.TRACES:
    import_module("registry_site.monitoring.tracing").start()
