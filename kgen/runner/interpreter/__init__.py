"""Triton's interpreter, made right and made strict.

Right: bf16 and fp8 are numbers, arguments have the types that the JIT gives them, loops over
run-time values work. Strict: exact bounds for every view, races between programs, integer overflow,
reads of what nothing wrote.

Import it only in a process that set TRITON_INTERPRET=1 before triton was imported: `tl.sum`,
`tl.cdiv` and the like are bound to the interpreter or to the compiler when triton is imported, and
stay so.
"""
