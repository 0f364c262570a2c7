"""What one does around an audit: power, the game of Section 5, replication of the paper."""
