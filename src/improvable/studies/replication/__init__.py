"""Section 6 and Appendices E and H of the paper, run again and written beside the published numbers."""
