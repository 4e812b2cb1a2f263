"""Operators' pages of accounts; every change goes through the verbs of this app. Importing registers them."""

from apps.accounts.admin import people, roles, tokens

__all__ = ["people", "roles", "tokens"]
