"""What was found: comparisons, audits, frontiers, in numbers and in words, and how they
are kept.
"""
