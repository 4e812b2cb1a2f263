"""Webhooks and mail: who is told of what, by an outbox that `audit.record` fills."""
