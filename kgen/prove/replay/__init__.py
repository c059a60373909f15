"""An independent reading of emitted kernels: their Python source, run on numpy without Triton.

A point that the prover calls a counterexample is replayed here before anything is called refuted,
and small instances are run whole to judge mutants of kernels. Nothing here reads TTIR or shares
code with what does, so that a mistake in one reading is not made twice.

    instance   `Instance`: tensors with extents, strides and table contents, and launches with their
               arguments; by hand, or by `host.capture` from the launcher of the emitted file
    program    `run_program(source, instance, launch, program) -> Trace`: accesses, wraps ...
    grid       `run_grid(source, instance) -> Report`: all launches in sequence, element by element
    point      `replay(source, instance, claim) -> Confirmation | None`
    mutant     `judge(source, scenes) -> Judgement`

Integers have their true widths, addresses are exact. Floats have values only where their tensors
were given contents; otherwise they are opaque, and so is what is computed from them. Whatever the
evaluator does not know raises `Unsupported`: nothing is skipped.
"""
