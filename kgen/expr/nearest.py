"""The nearest known word, for `did you mean`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word closest to `word`, letters' case aside; None when nothing is close."""
    by_folded = {candidate.casefold(): candidate for candidate in sorted(known, reverse=True)}
    found = difflib.get_close_matches(word[:100].casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def listing(words: Iterable[str]) -> str:
    """Words in backquotes, joined by commas."""
    return ", ".join(f"`{word}`" for word in words)


def suggestion(word: str, known: Iterable[str], label: str) -> str:
    """`did you mean ...?` where a known word is near, and the known words in any case."""
    known = sorted(known)
    close = nearest(word, known)
    asked = f"did you mean `{close}`? " if close else ""
    return f"{asked}{label}: {listing(known)}" if known else asked.strip()
