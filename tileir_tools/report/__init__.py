"""Answers for people and programs: text, JSON, Markdown, HTML and the formats of other tools.

Place in the flow: bytes -> Module -> facts -> findings -> **report**. Imports `diff` and `analyze`
records; nothing before this stage formats anything.
"""
