"""Compiles a generated file's kernels with no GPU and says what resources they take."""

from kgen.compile.batch import compile_all
from kgen.compile.job import Job, manifest_jobs
from kgen.compile.report import Limits, report
from kgen.compile.resources import Resources

__all__ = ["Job", "Limits", "Resources", "compile_all", "manifest_jobs", "report"]
