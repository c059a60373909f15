"""Plan to emitted file."""
