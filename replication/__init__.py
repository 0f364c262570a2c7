"""The replication of the paper: Section 5, Section 6 and Appendices E and H, our
numbers beside the published ones.

`make replicate`, or `python -m replication` in the repository's root.
"""
