"""Records are read strictly: what does not belong is named by its key, with what is there and what belongs there."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence"))

from records import record  # noqa: E402

from kgen.evidence.plain import ReadingError, canonical, parse  # noqa: E402
from kgen.evidence.record import FLAGS, Flagged, parse_record, read_record  # noqa: E402

TIMES = {"candidate": {"a": [1e-6] * 5}, "baseline": {"a": [2e-6] * 5}, "again": {"a": [2e-6] * 5}}


@pytest.fixture
def data() -> dict:
    return json.loads(record(TIMES).text())


def misfits(data: dict) -> list[str]:
    with pytest.raises(ReadingError) as raised:
        read_record(data)
    return [str(misfit) for misfit in raised.value.misfits]


def test_what_was_written_is_read_back_the_same():
    found = record(TIMES)
    assert parse_record(found.text()) == found
    assert parse_record(found.text()).text() == found.text()


def test_it_is_one_line_with_sorted_keys_and_no_nan():
    assert canonical({"b": 1, "a": [1.5]}) == '{"a":[1.5],"b":1}\n'
    with pytest.raises(ValueError):
        canonical({"a": float("nan")})


def change(data: dict, path: list, value: object) -> dict:
    changed = copy.deepcopy(data)
    place = changed
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (["seed"], "x", "seed: there is the text 'x'; an integer of 64 bits belongs there"),
        (["seed"], True, "seed: there is true; an integer of 64 bits belongs there"),
        (["seed"], ..., "seed: there is nothing; an integer of 64 bits belongs there"),
        (["schema"], 2, "schema: there is the number 2; 1 belongs there"),
        (["speed"], 1, "speed: there is an unknown key; only kind, schema,"),
        (["shapes", 0, "cold"], 1, "shapes[0].cold: there is the number 1; true or false"),
        (
            ["shapes", 0, "bytes"],
            1.5,
            "there is the number 1.5; an integer of 64 bits or null belongs",
        ),
        (["shapes", 0, "axes"], [], "shapes[0].axes: there is a list; an object belongs"),
        (["shapes", 0, "runtime", "S", 1], None, "shapes[0].runtime['S'][1]: there is null"),
        (["candidates", 0, "role"], "best", "role: there is the text 'best'; one of 'candidate'"),
        (["candidates", 0, "role"], "baseline", "the role 'baseline' 2 times"),
        (["candidates", 0, "name"], "baseline", "the name 'baseline' 2 times"),
        (["candidates", 2, "bytes_sha256"], "0", "an A/A run of another file"),
        (["turns", 3, "shape"], "b", "turns[3].shape: there is 'b'; a shape's name belongs"),
        (["turns", 3, "candidate"], "b", "turns[3].candidate: there is 'b'; a candidate's name"),
        (["turns", 3, "round"], 0, "round 0 of 'candidate' at 'a'; each round once"),
        (["turns", 3, "seconds"], [], "turns[3].seconds: there is []; at least one time"),
        (["turns", 3, "seconds"], [0.0], "at least one time between a picosecond and a day"),
        (["settings", "floor"], 1.5, "settings.floor: there is 1.5; a share below 1"),
        (["limits", "empty_launch_s"], 0.0, "limits.empty_launch_s: there is the number 0.0"),
        (["settings", "options", "x"], "\ud800", "settings.options['x']: there is the text"),
        (["shapes", 0, "bytes"], 10**400, "an integer of 64 bits or null belongs"),
        (["sources", "0"], "x", "a text with another hash"),
    ],
    ids=str,
)
def test_a_misfit_names_its_key_and_what_belongs_there(data, path, value, told):
    found = misfits(change(data, path, value))
    assert any(told in misfit for misfit in found), found


def test_every_misfit_is_told_at_once(data):
    changed = change(change(data, ["seed"], "x"), ["shapes", 0, "cold"], "y")
    assert len(misfits(changed)) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "no JSON"),
        ('{"a": 1, "a": 2}', "the key twice"),
        ('{"a": NaN}', "the number NaN"),
        ("[" * 100_000, "nested too deep"),
        ("1" * 5000, "no JSON"),
        ('{"\\ud800": 1}', "a key that is no text"),
    ],
)
def test_what_is_no_json_object_is_told(text, told):
    with pytest.raises(ReadingError, match=told):
        parse(text)


def test_a_number_too_large_for_a_float_is_a_misfit(data):
    changed = json.loads(json.dumps(data).replace("0.015", "1e999", 1))
    assert any("settings" in misfit for misfit in misfits(changed))


def test_every_flag_has_a_code_of_its_own():
    assert set(get_args(Flagged)) == set(FLAGS)
    assert len(set(FLAGS.values())) == len(FLAGS)


@pytest.mark.parametrize("module", ["record", "receipts", "report", "verify", "mapping"])
def test_reading_and_writing_need_the_standard_library_alone(root, module):
    program = (
        f"import sys, kgen.evidence.{module}\n"
        "own = {name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)\n"
        "print(sorted(name for name in own if not name.startswith('_')))"
    )
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(
        command, cwd=root, env={"PYTHONPATH": str(root)}, capture_output=True, text=True
    )
    assert done.stdout == "['kgen']\n", done.stderr


def test_a_record_carries_the_text_of_each_file(data):
    data["sources"] = {}
    assert any("no text of" in told for told in misfits(data))
