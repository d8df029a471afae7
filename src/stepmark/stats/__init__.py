"""Mathematics on numbers: arrays in, plain values out, the random generator is a parameter."""
