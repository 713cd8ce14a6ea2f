"""Validation of everything a user passes in: rows, targets, weights and parameters.

Every refusal names the argument, the rule, the value found and where it is, and happens before any
state has changed.
"""
