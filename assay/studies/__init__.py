"""Recipes on top of the flow: searches and simulations that use the package as any user would."""
