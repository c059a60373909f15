"""What the YAML parser's own errors mean, in words that say what to write instead."""

from __future__ import annotations

import yaml

_MEANINGS: tuple[tuple[str, str, str], ...] = (
    (
        "mapping values are not allowed",
        "a `:` where no key can stand",
        "quote a value that holds `: `, and indent the keys of one mapping alike",
    ),
    (
        "did not find expected ',' or '}'",
        "the mapping opened with `{` is not closed, or a comma is missing",
        "separate entries with `, `, close with `}`, and quote text that holds `,`, `[` or `{`",
    ),
    (
        "did not find expected ',' or ']'",
        "the list opened with `[` is not closed, or a comma is missing",
        "separate items with `, `, close with `]`, and quote text that holds `,`, `[` or `{`",
    ),
    (
        "found unexpected end of stream",
        "the quote opened here is never closed",
        "close it with the same quote",
    ),
    ("found unexpected ':'", "a `:` without a blank behind it", "write `key: value`"),
    (
        "could not find expected ':'",
        "a key without a `:`",
        "write `key: value`",
    ),
    (
        "did not find expected '-' indicator",
        "a line that is no item of the list above it",
        "indent the items of one list alike, each with `- `",
    ),
    (
        "did not find expected key",
        "a line that is no key of the mapping above it",
        "indent the keys of one mapping alike",
    ),
    (
        "block sequence entries are not allowed",
        "a list item `- ` behind a key",
        "begin the list on the next line, or write `[...]`",
    ),
    (
        "did not find expected node content",
        "a value is missing here",
        "write the value, or remove the comma or bracket",
    ),
    (
        "did not find expected <document start>",
        "a line with less indentation than the first",
        "indent the top-level keys alike, best not at all",
    ),
    ("found unknown directive name", "an unknown directive", "remove the line"),
    (
        "found unknown escape character",
        "an unknown escape in a quoted text",
        "write `\\\\` for a backslash",
    ),
    (
        "exceeded maximum nesting depth",
        "brackets are nested too deeply",
        "a spec nests a few levels",
    ),
)


def explain(error: yaml.YAMLError, text: str) -> tuple[int, int, str, str]:
    """Line and column (from 1), message and hint of the parser's error about `text`."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        column = error.position - (text.rfind("\n", 0, error.position) + 1) + 1
        return (
            line,
            column,
            f"the character U+{_code_point(error):04X} may not stand in YAML",
            "remove it",
        )
    problem = getattr(error, "problem", None) or "this is no YAML"
    mark = getattr(error, "problem_mark", None)
    opened = getattr(error, "context_mark", None)
    if opened is not None and ("end of stream" in problem or "expected ','" in problem):
        mark = opened
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    if "cannot start any token" in problem:
        return line, column, *_bad_start(text, mark)
    for known, message, hint in _MEANINGS:
        if known in problem:
            return line, column, message, hint
    return line, column, problem, ""


def _code_point(error: yaml.reader.ReaderError) -> int:
    return error.character if isinstance(error.character, int) else ord(error.character)


def _bad_start(text: str, mark: yaml.Mark) -> tuple[str, str]:
    """Message and hint for a character that begins no value."""
    character = text[mark.index : mark.index + 1]
    if character == "\t":
        return "a tab indents this line", "indent with spaces"
    return f"a value cannot begin with {character!r}", "put the value in quotes"
