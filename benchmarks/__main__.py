"""All of stepmark's benchmarks of itself."""

from benchmarks import analysis, loop, show, startup
from benchmarks.machine import machine_line

print(machine_line())
for part in (startup, loop, analysis, show):
    print()
    part.main()
