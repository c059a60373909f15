"""What gates and intervals ask for where nobody says otherwise; shares, so that 0.03 is 3 %."""

MIN_GAIN = 0.03
"""What a file's aggregate gains at least over the incumbent."""

MAX_REGRESSION = 0.05
"""What more time it may take at a shape than the incumbent."""

FLOOR = 0.015
"""The half width that no interval of a ratio is narrower than."""
