"""Authentication: tokens, sessions, sign-in."""
