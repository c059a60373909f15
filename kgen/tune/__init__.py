"""Tuning: what a sweep measured, written back into the spec."""
