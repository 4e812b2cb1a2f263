"""What an archive may contain, whatever its format."""
