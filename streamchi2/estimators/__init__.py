"""Estimators in scikit-learn's manner: thin, they validate, map, track and solve lazily."""
