"""Checks that a file keeps a contract, one module for each contract.

Place in the flow: thin consumers of bytes -> Module -> facts; imports `read`, `verify`, `errors`.
Installed as `tileir_tools.validators`.
"""
