"""The record of runs for reviewers: the only place that imports mlflow."""
