"""Tables of other tools, in and out."""
