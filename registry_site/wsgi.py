"""The WSGI application, for granian or any WSGI server behind a proxy (D2)."""

from importlib import import_module

from django.conf import settings

from registry_site.env import use_settings
from registry_site.server.forwarded import TrustedProxyHeaders
from registry_site.startup import die_with_parent

die_with_parent.arm()
use_settings()
application = TrustedProxyHeaders(import_module("registry_site.server.handler").handler)
# Apps are loaded. Background writers: token use (D13), downloads (D15), and what is fetched of other registries or
# held back.
import_module("apps.accounts.identity.token_usage").start()
import_module("apps.releases.catalogue.downloads").start()
import_module("apps.upstream.uses").start()
import_module("apps.upstream.held_back").start()
# Counts for /metrics, which all processes of this host share.
import_module("registry_site.monitoring.sharing").start()
if settings.TRACES:
    import_module("registry_site.monitoring.tracing").start()
# Lists of damaged and quarantined digests, for use during a database outage (D6).
import_module("apps.blobs.care.integrity").start()
import_module("apps.releases.lifecycle.quarantine").start()
