"""How fast pages are: the report, the store behind the served application, and the application itself."""
