"""How sure one can be of the winner of a search: a matrix of predictions in, an interval out. Pure."""
