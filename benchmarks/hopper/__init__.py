"""What the zoo's kernels become on a Hopper GPU, found out without one."""
