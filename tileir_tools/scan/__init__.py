"""Folders of dumps to Parquet tables, and questions to these.

Place in the flow: bytes -> Module -> facts -> findings -> **tables**; imports all of these. Nothing imports it
before it is used: it needs pyarrow and DuckDB (the extra `scan`). docs/scan.md is the manual.

    summary = scan(["dumps"], "out", arch="sm_100", jobs=2)
    answer = query("out", "select function, count(*) from entries group by 1")
"""

from .querying import Answer, query
from .scanning import Summary, scan

__all__ = ["Answer", "Summary", "query", "scan"]
