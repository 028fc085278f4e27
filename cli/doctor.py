"""`tileir doctor`: which of NVIDIA's tools are there.

Place in the flow: a thin consumer of `toolchain`.
"""

from __future__ import annotations

import click

from .running import write_output


@click.command(name="doctor")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.help_option("-h", "--help")
def command(form: str) -> int:
    """Say which of NVIDIA's tools were found, where, in which version, and how to get the others.

    None of them is needed to read, check, compare or write Tile IR. Exits with 1 where a tool that was
    found does not work.
    """
    from tileir_tools.report.doctor_report import doctor_json, doctor_text
    from tileir_tools.toolchain import all_tools

    tools = all_tools()
    write_output(doctor_json(tools) if form == "json" else doctor_text(tools), None)
    return 1 if any(tool.path is not None and tool.problem is not None for tool in tools) else 0
