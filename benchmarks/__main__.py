"""All of stepmark's benchmarks of itself."""

from benchmarks import analysis, blocks, loop, show, startup
from benchmarks.machine import machine_line

print(machine_line())
for part in (startup, loop, blocks, analysis, show):
    print()
    part.main()
