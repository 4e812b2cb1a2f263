"""What other people's Git servers say, read with git and ssh as children that can do little. No Django in here."""
