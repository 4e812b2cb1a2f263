"""What differs between two versions of a module, and whom it breaks."""
