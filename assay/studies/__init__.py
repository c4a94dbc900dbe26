"""Recipes on top: a search with its interval, and what else one does with many runs."""
