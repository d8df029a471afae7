"""All of stepmark's benchmarks of itself."""

from benchmarks import analysis, loop, startup
from benchmarks.machine import machine_line

print(machine_line())
for part in (startup, loop, analysis):
    print()
    part.main()
