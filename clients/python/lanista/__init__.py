"""Lanista's Python side: marks choices in PyTorch models. Only torch is needed."""
