"""How measuring is done: programs, clocks, blocks, warm-up, launches, schedule and protocol. Never torch."""
