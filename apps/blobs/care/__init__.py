"""Care for stored bytes: scrubbing, copies, orphans, quarantine of damaged bytes."""
