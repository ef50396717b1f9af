"""Lanista's Python side.

`lanista.nn` marks choices in PyTorch models; it needs torch only. `lanista.client` talks to a head; it needs grpcio,
protobuf, and the modules that `pip install`, or scripts/python_stubs.sh, makes.
"""
