"""The programs that run in the sandboxed child."""
