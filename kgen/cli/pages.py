"""The pages of diagnostics' codes, as text for a terminal and as the document `docs/errors.md`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby

from kgen.diagnostics.pages import Page, all_codes, page

AREAS = {
    "1": "files and YAML",
    "2": "the schema of specs",
    "3": "expressions",
    "4": "plans and proofs",
    "5": "templates, variants and rendering",
    "6": "compiling",
    "7": "tests",
    "8": "proofs of rendered kernels",
    "9": "measuring, receipts and the ledger",
}
WIDTH = 100
INTRODUCTION = """\
# Errors and findings

A message begins with its place and its code: `spec.yaml:31:14: KG204: …`. The code is stable, and this is its page;
`kgen explain KG204` prints it. The page says what happened, why it matters, and what to do instead.

This file is generated: `kgen explain --all > docs/errors.md`.\
"""


def as_text(found: Page) -> str:
    """A page for a terminal."""
    sections = (
        ("What it is", found.what),
        ("Why it matters", found.why),
        ("Instead", found.instead),
    )
    parts = [f"{found.code}: {found.title}"]
    parts += [
        f"{title}\n{textwrap.indent(_wrapped(text, WIDTH - 2), '  ')}" for title, text in sections
    ]
    return "\n\n".join(parts)


def as_markdown() -> str:
    """Every page as one Markdown document, in the order of codes."""
    return "\n\n".join(_document())


def _document() -> Iterator[str]:
    yield INTRODUCTION
    for area, codes in groupby(all_codes(), key=lambda code: code[2]):
        yield f"## KG{area}xx: {AREAS[area]}"
        for code in codes:
            found = page(code)
            yield f"### {code}: {found.title}"
            yield _wrapped(found.what)
            yield _wrapped(f"**Why it matters:** {found.why}")
            yield _wrapped(f"**Instead:** {found.instead}")


def _wrapped(text: str, width: int = WIDTH) -> str:
    """`text` in lines of at most `width` columns; its own paragraphs are kept, and code lines stay whole."""
    return "\n".join(
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        for line in text.strip().split("\n")
    )
