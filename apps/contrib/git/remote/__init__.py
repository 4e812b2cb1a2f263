"""Other people's Git servers, read with git and ssh as children that can do little. No Django in here."""
