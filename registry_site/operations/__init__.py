"""The commands of operators: a check-up of every part, backups, moves to other servers."""
