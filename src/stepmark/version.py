"""The version of stepmark."""

VERSION = "0.1.0"
