"""The web: a small application over the store, for people who would rather look than read."""
