"""Which tasks belong into a suite, and why: facts, rules and the record of both."""
