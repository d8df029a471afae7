"""The suites that come with stepmark: `stepmark run NAME`."""

BUILTIN = {
    "demo": "a dense layer, its twin, a low-rank one and a normed one: what verdicts look like, in a minute",
}
"""Name and one line about each; the suite itself is the module of that name, imported in workers only."""
