"""What decides: decisions, cutoffs, models, constraints, and the rules that find
candidates.
"""
