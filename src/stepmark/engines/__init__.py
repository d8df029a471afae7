"""Where solo passes and launches run: this machine's processes, or a scripted fake."""
