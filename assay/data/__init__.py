"""What is learned from: tables, their digests, splits and facts, and the sources they come from.

Nothing is imported here, so that planning stays light; see `assay.data.resolve` for the way in.
"""
