"""Admin pages of accounts; every change goes through the verbs of this app. Importing registers them."""

from apps.accounts.admin import people, roles, teams, tokens

__all__ = ["people", "roles", "teams", "tokens"]
