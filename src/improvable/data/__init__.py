"""Rows become a sample: frames, keys, columns, groups, features, weights, clusters, and
where rows live.
"""
