"""The nouns of stepmark: frozen values that travel between the rooms, checked when they are made."""
