"""What operators run by command: a check-up of every part, backups, moves to other servers."""
