"""Views of a judged run, and one renderer a format: values in, text out; nothing is decided here."""
