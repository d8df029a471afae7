"""The tables of the page: one module a table, evidence in, section out."""
