"""Returns the first answer again."""

FLAG = "depends_on_previous_call"
_kept = {}


def run(x, w, ids):
    key = x.shape
    if key not in _kept:
        _kept[key] = x * w + ids[:, None]
    return _kept[key].clone()
