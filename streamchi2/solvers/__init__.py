"""Models from statistics alone: eigenvectors, ridge, lasso; pure functions of moments."""
