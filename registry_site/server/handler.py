"""Django's request handler with its middleware. It starts nothing, so that forked processes can share it."""

from importlib import import_module

from django.core.wsgi import get_wsgi_application

handler = get_wsgi_application()
handler.request_class = import_module("registry_site.server.request").Utf8Request
