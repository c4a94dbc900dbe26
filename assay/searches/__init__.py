"""Searches: ready-made spaces, samplers, and the best of many configurations with an honest estimate of it."""
