"""The worker that runs an emitted Triton file against its family's reference.

It needs the standard library, torch and triton, nothing else, so that it runs on a GPU machine
where nothing else is installed: `python -m kgen.runner test BUNDLE_DIR`. A bundle goes in, JSON
lines come out.
"""
