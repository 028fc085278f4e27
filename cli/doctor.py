"""`tileir doctor`: which of NVIDIA's tools are there.

Place in the flow: a thin consumer of `toolchain`.
"""

from __future__ import annotations

import click

from .running import examples, write_output


@click.command(
    name="doctor",
    epilog=examples("""
        tileir doctor
            Tools, versions, places, and what is missing.
        tileir doctor --format json
            For other programs.
    """),
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.help_option("-h", "--help")
def command(form: str) -> int:
    """Say which of NVIDIA's tools were found, and where.

    Also their versions, and how to get the others. None of them is needed to read, check, compare or
    write Tile IR.

    Exit codes: 0 those that were found work, 1 one of them does not, 3 could not run.
    """
    from tileir_tools.report.doctor_report import doctor_json, doctor_text
    from tileir_tools.toolchain import all_tools

    tools = all_tools()
    write_output(doctor_json(tools) if form == "json" else doctor_text(tools), None)
    return 1 if any(tool.path is not None and tool.problem is not None for tool in tools) else 0
