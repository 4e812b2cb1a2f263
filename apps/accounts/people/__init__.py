"""Accounts, teams and invitations, from the first sign-in to erasure."""
