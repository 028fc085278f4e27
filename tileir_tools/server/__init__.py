"""The agents' door: a server of the Model Context Protocol over the commands.

Place in the flow: beside the commands, which it runs; nothing of the library imports it. `kernels` and
`porting` hold the tools, `calls` runs a command in a process of its own, `guard` keeps that process inside of
what `access` allows, `fit` cuts answers to a size. Needs the extra `mcp`.
"""
