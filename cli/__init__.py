"""Commands, one module each.

Place in the flow: parse arguments, call the library, print; nothing else. Installed as
`tileir_tools.cli`. Every command exits with 0 for a pass, 1 for a failure, 3 where it could not run;
`tileir-diff` adds 2 for a pass with notes.
"""
