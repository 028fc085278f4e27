"""Performance records in `pytest --junitxml`: the public way to get them out of TileGym.

Place in the flow: bytes -> **records**; imports `benchmark_property`, `untrusted`. Both of pytest's
families (xunit1, xunit2) are read, through defusedxml: no entity is expanded and nothing is fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InputError, UsageError
from .benchmark_property import measurements_of
from .node_ids import junit_node_id, split_node_id
from .records import CaseOutcome, Measurement, PerformanceLog
from .untrusted import literal

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# Elements take many times the memory of their text.
MAX_XML = 64 << 20
# Child of a test case -> outcome; the first that is there counts.
_OUTCOMES = (("error", "error"), ("failure", "failed"), ("skipped", "skipped"))


def read_junit(data: bytes, path: str) -> PerformanceLog:
    """The test cases of a JUnit XML file with their `benchmark` properties.

    Raises:
        InputError: no XML, XML with entities, or XML of another kind.
        UsageError: defusedxml is not installed.
    """
    measurements: list[Measurement] = []
    tests: list[CaseOutcome] = []
    notes: list[str] = []
    blocks = 0
    for case in _root(data, path).iter("testcase"):
        test = junit_node_id(case.get("classname", ""), case.get("name", ""), case.get("file"))
        outcome = next((o for tag, o in _OUTCOMES if case.find(tag) is not None), "passed")
        tests.append(CaseOutcome(test, outcome))
        place = f"{path}: {test}"
        for record in case.iterfind("./properties/property[@name='benchmark']"):
            blocks += 1
            try:
                value = literal(record.get("value", ""))
                found = measurements_of(value, split_node_id(test), place)
                measurements += [m._replace(outcome=outcome) for m in found]
            except ValueError as error:
                notes.append(f"{place}: {error}")
    return PerformanceLog(path, "junit", tuple(measurements), tuple(tests), tuple(notes), blocks)


def _root(data: bytes, path: str) -> Element:
    try:
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import ParseError, fromstring
    except ImportError:
        raise UsageError("JUnit XML: pip install 'tileir-tools[bench]'") from None
    if len(data) > MAX_XML:
        raise InputError(f"{path}: error: XML larger than {MAX_XML >> 20} MiB")
    try:
        root = fromstring(data, forbid_dtd=True)
    except ParseError as error:
        line, column = error.position
        raise InputError(f"{path}:{line}:{column + 1}: error: not XML: {error}") from None
    except DefusedXmlException:
        raise InputError(f"{path}: error: XML with a DTD or entities is not read") from None
    except (ValueError, LookupError) as error:
        # Wrong or unknown encodings.
        raise InputError(f"{path}: error: not XML: {error}") from None
    if root.tag not in ("testsuites", "testsuite"):
        message = f"{path}: error: XML with root <{root.tag}>, expected <testsuites>"
        raise InputError(message)
    return root
