"""Other tools' result files: read into records, written back byte for byte; one file a format."""
