"""From decisions to p-values: rows, contributions, cells, draws, statistics, p-values
(Section 3.2, Appendix A).
"""
