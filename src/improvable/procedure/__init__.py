"""Order, select, evaluate, combine: audit and compare, for every engine."""
