"""What is asked: settings, claim, utilities; checked before any row is read."""
