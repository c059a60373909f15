"""Everything that is decided before a line is rendered."""
