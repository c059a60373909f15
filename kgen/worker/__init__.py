"""Work that may crash, hang or need another environment, done in a process that talks JSON.

The parent sends one JSON object a line on the child's stdin, `{"id", "verb", "payload"}`. The child
answers with lines `{"id", "event": "progress" | "result" | "error", ...}`. Nothing but the standard
library is imported, so that either end runs where nothing else is installed.
"""

from kgen.worker.child import serve
from kgen.worker.failures import WorkerDied, WorkerError, WorkerFailure, WorkerTimeout
from kgen.worker.parent import Worker, module_worker
from kgen.worker.pool import map_jobs

__all__ = [
    "Worker",
    "WorkerDied",
    "WorkerError",
    "WorkerFailure",
    "WorkerTimeout",
    "map_jobs",
    "module_worker",
    "serve",
]
