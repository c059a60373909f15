"""What has to be proved of a kernel: one module for each kind of obligation."""
