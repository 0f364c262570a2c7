"""Files: reading them, writing them whole, and reading those that others sent."""
