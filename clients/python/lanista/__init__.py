"""Lanista's Python side. `lanista.nn` marks choices in PyTorch models; only torch is needed. `lanista.client` talks to a head;
grpcio and protobuf are needed, and scripts/python_stubs.sh once."""
