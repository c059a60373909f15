"""What changed between two kernels: in the spec, in the source, and in what the compiler makes of it."""
