"""The game of Section 5: what an analyst gains by secretly repeating the test."""
