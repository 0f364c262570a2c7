"""The game of Section 5: what secret repetition of the test can gain."""
