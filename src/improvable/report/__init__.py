"""Results in words: one dictionary of facts, and what is written from it."""
