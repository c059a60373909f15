"""Sweeps: the candidates of a regime, which of them can be right and fit, and in what order to try them."""
