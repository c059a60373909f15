"""Proofs about emitted files: their kernels, and the host code that launches them."""
