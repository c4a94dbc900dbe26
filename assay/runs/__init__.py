"""Doing it: the supervisor, the sandbox tiers, the machine, the run loop."""
