"""Confidence intervals for the winner of a search: a matrix of predictions in, an interval out. Pure."""
