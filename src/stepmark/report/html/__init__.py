"""The report as one page: views, templates, style and scripts of a self-contained HTML file."""
