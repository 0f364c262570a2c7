"""Trust: an audit declared before it is run, sealed against re-rolling, recorded, and verified by the other side."""
