"""Shared code of incoming and outgoing HTTP: bodies, peers behind proxies, host names, requests to other servers."""
