"""Whatever the text is, the answer is a spec or diagnostics."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import yaml

from kgen.diagnostics import KgenError
from kgen.spec import Spec, loads

BASES = Path(__file__).with_name("cases") / "base"
VALID = [(BASES / name).read_text() for name in ("attention.yaml", "norm.yaml")]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(
        ["none", "otherwise", "Q == 1", "S > 1", "1 // 0", "sqrt(", "x" * 3000, "class", "a\nb"]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def paths(value: object, here: tuple = ()) -> list[tuple]:
    """The way to every value of a document."""
    found = [here] if here else []
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            found += paths(inner, (*here, key))
    return found


@st.composite
def mutated(draw) -> str:
    """A valid spec in which values were deleted, duplicated, renamed or replaced."""
    document = yaml.safe_load(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 4))):
        known = paths(document)
        if not known:
            break
        *way, last = draw(st.sampled_from(known))
        parent = document
        for key in way:
            parent = parent[key]
        match draw(st.sampled_from(["delete", "replace", "rename", "repeat", "swap"])):
            case "delete":
                del parent[last]
            case "replace":
                parent[last] = draw(VALUES)
            case "rename" if isinstance(parent, dict):
                parent[draw(st.one_of(st.text(max_size=8), st.integers()))] = parent.pop(last)
            case "repeat" if isinstance(parent, list):
                parent.append(parent[last])
            case _:
                other = draw(st.sampled_from(known))
                parent[last] = str(other[-1])
    return yaml.safe_dump(document, allow_unicode=draw(st.booleans()), sort_keys=False)


@st.composite
def garbled(draw) -> str:
    """The text of a valid spec with pieces cut out, doubled or overwritten."""
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        piece = draw(st.one_of(st.just(""), st.just(text[start:end] * 2), st.text(max_size=6)))
        text = text[:start] + piece + text[end:]
    return text


def answers(text: str, overrides: tuple[str, ...] = ()) -> None:
    """Fails unless `text` gives a spec, or diagnostics that are fit to print."""
    try:
        spec = loads(text, "fuzz.yaml", overrides)
    except KgenError as error:
        assert error.diagnostics
        assert len(set(error.diagnostics)) == len(error.diagnostics)
        for problem in error.diagnostics:
            assert problem.message.isprintable() and problem.hint.isprintable()
            assert problem.source.isprintable() and len(problem.message) < 400
            # words of pydantic, which the translation has to replace
            assert "Input" not in problem.message and "valid " not in problem.message
        places = [(p.place.file, p.place.line, p.place.column) for p in error.diagnostics]
        assert places == sorted(places, key=lambda place: (place[0] != "fuzz.yaml", *place))
    else:
        assert isinstance(spec, Spec)


@hypothesis.given(mutated())
def test_mutated_documents(text):
    answers(text)


@hypothesis.given(garbled())
def test_garbled_text(text):
    answers(text)


@hypothesis.given(st.one_of(st.text(), st.text(alphabet="ab:-[]{}&*!|>'\"%@`#,? \n\t\r\u2028\x85")))
def test_random_text(text):
    answers(text)


@hypothesis.given(
    st.sampled_from(VALID),
    st.lists(st.text(alphabet="abregimsxQ.=01[]{}:, \n'\"&*!", max_size=30), max_size=3),
)
def test_random_overrides(text, overrides):
    answers(text, tuple(overrides))
