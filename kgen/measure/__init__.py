"""Measuring: candidates in processes of their own, timed in turns on one GPU, each judged before and after.

A record of what happened comes out (`kgen.evidence.record`); what follows from it is drawn there. All of it runs with
Python's standard library, torch and Triton: `python -m kgen.measure judge FILE --against FILE`.
"""
