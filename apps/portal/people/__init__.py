"""Pages of an account: sign-in, tokens, teams, invitations."""
