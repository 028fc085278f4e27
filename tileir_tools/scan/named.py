"""Questions with a name, as data: `tileir query --named NAME`.

Place in the flow: below `querying`; imports nothing. docs/scan.md shows what they answer.
"""

from __future__ import annotations

from typing import NamedTuple


class Named(NamedTuple):
    """A question: what it asks, in one line; its SQL; whether only a scan with a reference can answer it."""

    about: str
    sql: str
    compares: bool = False


NAMED: dict[str, Named] = {
    "lost-tma": Named(
        "kernels of which fewer memory operations may use TMA than in the reference (--reference)",
        """
        with tma as (
            select content, module, entry, count(*) filter (may_use_tma) as operations
            from memory group by all
        )
        select e.signature, f.path, f.member, g.path as reference_path,
               coalesce(r.operations, 0) as reference_tma, coalesce(s.operations, 0) as tma
        from comparisons c
        join entries e using (content, module, entry)
        join entries p on (p.content, p.module, p.entry)
                        = (c.reference_content, c.reference_module, c.reference_entry)
        join (select content, first(path order by path, member) as path,
                     first(member order by path, member) as member
              from files where side = 'scanned' group by content) f using (content)
        join (select content, min(path) as path from files
              where side = 'reference' group by content) g on g.content = c.reference_content
        left join tma s using (content, module, entry)
        left join tma r on (r.content, r.module, r.entry)
                         = (c.reference_content, c.reference_module, c.reference_entry)
        where coalesce(s.operations, 0) < coalesce(r.operations, 0)
          -- One name with other constants or formats is another configuration, not a loss.
          and (c.matched_by <> 'function' or e.convention <> p.convention)
        order by all
        """,
        compares=True,
    ),
    "hints-by-arch": Named(
        "how many entries and operations have which hint, by target",
        """
        select arch, key, value, count(*) as operations,
               count(distinct (content, module, entry)) as entries
        from hints group by all order by all
        """,
    ),
    "variants": Named(
        "kernels with the number of their variants: structures, bodies, these with sizes, formats, hints",
        """
        select real_function, count(*) as entries,
               count(distinct fingerprint_structure) as structures,
               count(distinct fingerprint_sizes) as bodies,
               count(distinct fingerprint_dtype) as with_sizes,
               count(distinct fingerprint_hints) as with_formats,
               count(distinct fingerprint_names) as with_hints
        from entries group by all order by entries desc, real_function
        """,
    ),
    "errors": Named(
        "files that cannot be read or are not valid, with the place of the first error",
        """
        select f.path, f.member,
               coalesce(c.error_kind, case when f.error is not null then 'file' else 'verify' end)
                   as kind,
               coalesce(c.error_line, c.verify_line) as line, c.error_column as col,
               c.error_offset as byte, coalesce(f.error, c.error, c.verify_message) as message
        from files f left join contents c using (content)
        where f.error is not null or c.error is not null or c.verify_errors > 0
        order by all
        """,
    ),
    "verdicts": Named(
        "how entries compare with the reference (--reference), by the codes of the findings",
        """
        select coalesce(verdict, 'no reference') as verdict,
               coalesce(array_to_string(codes, ' '), '') as codes, count(*) as entries
        from comparisons group by all order by entries desc, verdict, codes
        """,
        compares=True,
    ),
    "duplicates": Named(
        "contents that several files have",
        """
        select content, count(*) as files, min(path) as first_path
        from files where content is not null
        group by content having count(*) > 1 order by files desc, first_path
        """,
    ),
}
