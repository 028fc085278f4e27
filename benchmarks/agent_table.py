"""What agent A found of each operation: `python benchmarks/agent_table.py OUT`.

OUT is the folder of kernels that `tileir agent a` wrote to. Prints the table of docs/agent_a.md: one row for
each operation with an analysis, one line for each that has none.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tileir_tools.agents import read_analysis
from tileir_tools.toolchain.dump_folder import read_manifest

HEAD = [
    "operation",
    "variants",
    "configs",
    "dumps",
    "supplements",
    "aliases",
    "tuned",
    "not decided",
]
# Always so without a GPU, and said once in the text.
_KNOWN = ("benchmark",)


def row(folder: Path) -> list[str]:
    """The cells of one operation."""
    found = read_analysis(str(folder / "reference" / "analysis.json"))
    variants = found["kernel_variants"]
    assert isinstance(variants, list)
    configs, undecided = found["config_to_variant"], found["undecided"]
    assert isinstance(configs, dict)
    assert isinstance(undecided, list)
    supplements = [k for v in variants for k in v if k.endswith("_supplement")]
    aliases = sorted({v["kernel_function"] for v in variants if "__" in v["ir"]["entry"]})
    tuned = [len(v["autotune_configs"] or ()) for v in variants]
    doubts = [u for u in undecided if u["what"] not in _KNOWN]
    return [
        folder.name,
        ", ".join(f"{v['variant_name']}" for v in variants),
        f"{len(configs)} of {found['test_perf_configs'][0]['test']}",  # type: ignore[index]
        str(len(read_manifest(str(folder / "reference" / "dumps"))["kernels"])),  # type: ignore[arg-type]
        str(len(supplements) or ""),
        ", ".join(f"`{a}`" for a in aliases if folder.name not in a),
        " ".join(map(str, tuned)) if any(tuned) else "",
        "; ".join(dict.fromkeys(f"{u['what']}: {u['why']}" for u in doubts)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    lines = [HEAD, ["---"] * len(HEAD)]
    for folder in sorted(path for path in out.iterdir() if path.is_dir()):
        if (folder / "reference" / "analysis.json").is_file():
            lines.append([cell.replace("|", "\\|") for cell in row(folder)])
        else:
            reason = (folder / "SKILL_METHODOLOGY_BLOCKED.txt").read_text("utf-8").splitlines()[1]
            print(f"{folder.name}: {json.dumps(reason)}")
    print("\n".join("| " + " | ".join(line) + " |" for line in lines))


if __name__ == "__main__":
    main()
