"""Webhooks: receivers of events of a namespace, or of all of them."""
