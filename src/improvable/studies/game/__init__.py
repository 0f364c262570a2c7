"""The game of Section 5: what secret attempt of the test can gain."""
