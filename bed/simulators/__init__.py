"""Outcome simulators: y ~ p(y | x, theta', I)."""
