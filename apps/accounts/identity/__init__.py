"""How a request proves who it is: tokens, sessions, sign-in."""
