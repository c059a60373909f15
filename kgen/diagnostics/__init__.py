"""Diagnostics: what kgen says when something is wrong, where it is, and what to write instead."""

from kgen.diagnostics.model import Diagnostic, KgenError, Place, Severity

__all__ = ["Diagnostic", "KgenError", "Place", "Severity"]
