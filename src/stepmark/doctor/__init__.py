"""The doctor: what on a machine disturbs measurements; facts in, diagnoses out, nothing is read here."""
