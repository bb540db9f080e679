"""Studies: errors of mechanisms and estimators, measured on simulated populations."""
