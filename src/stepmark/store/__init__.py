"""The only SQL of stepmark: runs and their trials, appended as they finish, read back exactly."""
