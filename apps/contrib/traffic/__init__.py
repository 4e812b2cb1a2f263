"""Downloads and bytes by team, account and token, for operators."""
