"""Linear classifiers that improve on the status quo: the programs of Appendix F, and a
search at any size.
"""
