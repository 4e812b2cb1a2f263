"""Webhooks, and what a person is told of by mail."""
