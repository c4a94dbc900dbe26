"""Which tasks, and why these: suites, and the choice among their tasks.

Nothing is imported here; see `assay.suites.suite` for the way in.
"""
