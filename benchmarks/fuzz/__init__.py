"""Damage what Assay reads, at random, and see that it never ends in a traceback, a hang or a gigabyte.

`python -m benchmarks.fuzz` (or `make fuzz`). A case is one file of a reader, changed by one to three mutations that
follow from the seed, the reader and the number of the case; `--reader R --case N` plays one again.
"""
