"""The worked example of docs/templates.md, as files: what the document shows is what the tests run."""

from __future__ import annotations

import re
from pathlib import Path

FILES = {
    "my_templates/norm/softmax/variant.yaml": "yaml",
    "my_templates/norm/softmax/kernel.py.j2": "jinja",
    "softmax.yaml": "yaml",
}


def write_softmax(document: Path, folder: Path) -> tuple[Path, Path]:
    """Writes the example's files under `folder`; returns its spec and its template folder."""
    text = document.read_text()
    for name, language in FILES.items():
        block = re.search(rf"`{re.escape(name)}`.*?```{language}\n(.*?)```", text, re.DOTALL)
        assert block, f"{document} shows no {name}"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block[1])
    return folder / "softmax.yaml", folder / "my_templates"
