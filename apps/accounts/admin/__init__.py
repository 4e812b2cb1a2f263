"""Admin pages of accounts; every change goes through the verbs of this app. Importing registers them."""

from apps.accounts.admin import groups, people, roles, teams, tokens

__all__ = ["groups", "people", "roles", "teams", "tokens"]
