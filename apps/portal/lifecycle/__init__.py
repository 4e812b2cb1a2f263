"""Pages that deprecate, yank, quarantine and purge."""
