"""Figures: charts of a judged run as Vega-Lite specifications, each with its alt text and how to read it."""
