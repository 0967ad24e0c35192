"""Belief models: p(theta = 1 | h, I)."""
