"""Studies around an audit: its power, and the game of Section 5."""
