"""Torch at work: clocks, steps, facts of the machine; and a scripted fake without torch."""
