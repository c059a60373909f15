"""kgen turns a YAML kernel spec into proved, compiled, tested Triton source.

Importing this package imports nothing else: the command line, the worker on a GPU machine and the tests each
load only what they use.
"""

__version__ = "0.1.0"
