"""The compile worker with faults planted at kernels of certain names."""

from __future__ import annotations

import os
import time
from pathlib import Path

from kgen.worker import serve


def compile_or_fail(payload, emit):
    function, log = payload["job"]["function"], Path(payload["log"])
    if function == "plant_abort":
        log.write_text("LLVM ERROR: planted\n")
        os.abort()
    if function == "plant_hang":
        log.write_text("still optimizing\n")
        time.sleep(600)
    if function == "plant_error":
        raise KeyError("planted")
    from kgen.compile.worker import compile_job

    return compile_job(payload, emit)


serve({"compile": compile_or_fail})
