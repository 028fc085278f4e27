"""The HTML report: well-formed, escaped, complete, linked by identity; and how it behaves in a browser.

The tests of the second part drive a headless Chromium (`pip install '.[browser]'`, and `chromium` and
`chromedriver` on the path); they are skipped where one of them is missing.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import FIXTURES, ROOT, fixture_versions
from tileir_tools.cli.diff import command as diff_command

from tileir_tools.analyze.stages import feeds, stages, stages_behind
from tileir_tools.diff import Diff, Policy, diff
from tileir_tools.diff.correspond import correspondences
from tileir_tools.diff.policy import Ignore
from tileir_tools.read import load, parse, parse_all
from tileir_tools.report.html_code import _heaviest_chain
from tileir_tools.report.html_report import diff_html
from tileir_tools.report.layers import Arrow, Box, lay_out
from tileir_tools.report.markup import Html, escaped, tag
from tileir_tools.write.marked import place_in_text

REFERENCE = ROOT / "examples" / "ir" / "matmul_reference.mlir"
GENERATED = ROOT / "examples" / "ir" / "matmul_generated.mlir"
ATTENTION = FIXTURES / "attention__causal-float16__sm_100__bc13.4"
ALERT = "</script><script>alert(1)</script>"


class Page(HTMLParser):
    """A page as elements and texts; `problems` says what is not well-formed."""

    VOID = ("col", "input", "meta")

    def __init__(self, text: str):
        super().__init__()
        self.problems: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.problems += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(set(names)) < len(names):
            self.problems.append(f"{tag} says an attribute twice: {names}")
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def having(self, name: str) -> list[str]:
        """The values of an attribute, wherever it is."""
        return [v for _, attributes in self.elements if (v := attributes.get(name)) is not None]

    def of_class(self, name: str) -> list[dict[str, str | None]]:
        return [a for _, a in self.elements if name in (a.get("class") or "").split()]

    @property
    def text(self) -> str:
        return "".join(self.texts)


def check(page: Page) -> None:
    """What holds for every page."""
    assert page.problems == []
    ids = page.having("id")
    assert [i for i, n in Counter(ids).items() if n > 1] == []
    # Every link leads to something in the page itself.
    links = [*page.having("href"), *(f"#{i}" for n in ("data-a", "data-b") for i in page.having(n))]
    assert {link for link in links if not link.startswith("#")} == set()
    assert {link[1:] for link in links} <= set(ids)
    assert page.having("src") == page.having("style") == page.having("onclick") == []
    assert sum(name == "script" for name, _ in page.elements) == 1
    assert {int(n) for n in page.having("data-alt")} <= {int(n) for n in page.having("data-n")}


def report(left: str, right: str, policy: Policy | None = None, name: str = "g.mlir") -> str:
    one, other = parse_all(left, "r.mlir"), parse_all(right, name)
    return diff_html(diff(one, other, policy=policy), one, other, ("r.mlir", name))


def example() -> tuple[Diff, str]:
    one, other = load(REFERENCE), load(GENERATED)
    found = diff(one, other)
    return found, diff_html(found, [one], [other], ("reference.mlir", "generated.mlir"))


# -- the page ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("files", [p for p in fixture_versions().values() if len(p) > 1], ids=str)
def test_pages_of_real_kernels_are_well_formed(files: list[Path]) -> None:
    one, other = load(files[0]), load(files[-1])
    check(Page(diff_html(diff(one, other), [one], [other], ("a", "b"))))


def test_every_finding_is_there() -> None:
    found, text = example()
    page = Page(text)
    check(page)
    assert len(page.of_class("finding")) == len(found.findings) == 4
    for finding in found.findings:
        assert finding.message in page.text
        assert finding.action in page.text
        assert all(step in page.text for step in finding.path)
        for place in (finding.reference, finding.generated):
            assert place is not None
            assert f"line {place.line}" in page.text
    assert [f"{f.severity.lower()}" for f in found.findings] == [
        (a.get("class") or "").split()[1] for a in page.of_class("finding")
    ]
    # What differs in two lines, and nothing else, is marked.
    marks = re.findall("<mark>(.*?)</mark>", text)
    assert marks == [
        "padding_value = zero, ",
        " optimization_hints = &lt;sm_100 = {latency = 1}&gt;",
        " rounding&lt;zero&gt;",
    ]


def test_what_is_ignored_is_shown_with_the_reason() -> None:
    text = REFERENCE.read_text()
    policy = Policy(ignores=(Ignore("MEM007", "*", "sizes are <even>", None),))
    changed = text.replace("padding_value = zero, ", "")
    page = Page(report(text, changed, policy))
    check(page)
    assert {a["class"] for a in page.of_class("finding")} == {"finding ignored"}
    assert "ignored: sizes are <even>" in page.text


def test_kernels_without_a_difference_and_without_a_partner() -> None:
    text = REFERENCE.read_text()
    page = Page(report(text, text))
    check(page)
    assert page.of_class("finding") == []
    assert "No difference." in page.text
    extra = "entry @extra(%a: tile<i32>) {\n  return\n}\n"
    page = Page(report(text + extra, text))
    check(page)
    assert len(page.of_class("pair")) == 2
    assert "entry @extra of the reference has no counterpart" in page.text
    assert "No kernel on this side." in page.text


def test_findings_in_bytecode_have_lines() -> None:
    one, other = load(f"{ATTENTION}.tileirbc"), load(f"{ATTENTION}.tileirbc")
    for module in (one, other):
        place_in_text(module, "attention.tileirbc")
    op = next(op for op in other.walk() if op.name == "exp2")
    del op.attributes["flush_to_zero"]
    found = diff(one, other)
    (finding,) = found.findings
    assert finding.reference is not None
    line = one.to_text(wrap=False).split("\n")[finding.reference.line - 1]
    assert finding.reference.text == line.strip()
    assert "exp2" in line
    page = Page(diff_html(found, [one], [other], ("a", "b")))
    check(page)
    (item,) = page.of_class("finding")
    assert item["data-a"]
    assert item["data-b"]


def hostile(string: str, symbol: str) -> str:
    return (
        f'entry @"{symbol}"(%a: tile<i32>) {{\n  %t = print_tko "{string}", %a : tile<i32> -> token\n'
        "  return\n}\n"
    )


def test_text_of_the_kernels_is_text() -> None:
    left = hostile(f"{ALERT}&amp;<b id='x'>%d", "<img src=x>&'")
    right = hostile(f"{ALERT}&amp;<b id='x'>changed %d", "a\\22 onclick=\\22b<!--")
    page_text = report(left, right, name='"><script>.mlir')
    assert "<script>alert" not in page_text
    page = Page(page_text)
    check(page)
    assert f"{ALERT}&amp;<b id='x'>%d" in page.text
    assert '@"<img src=x>&\'"' in page.text
    assert '"><script>.mlir' in page.text
    assert len(page.of_class("finding")) == 1


def test_what_cannot_be_seen_is_shown() -> None:
    # Text that turns the direction of a line would make it say something else.
    assert escaped("a\u202eb\x00\u2028\ud800\t\n") == "a\ufffdb\ufffd\ufffd\ufffd\t\n"
    page = report(hostile("x", "k"), hostile("x", "k"), name="g\udcff\u202e.mlir")
    page.encode("utf-8")
    assert "g\ufffd\ufffd.mlir" in page


def test_tags_escape_what_is_no_html() -> None:
    inner = tag("b", "<", title='"')
    assert inner == '<b title="&quot;">&lt;</b>'
    assert tag("p", inner, "&", hidden=True, id=None, data_n=3) == (
        f'<p hidden data-n="3">{inner}&amp;</p>'
    )
    assert isinstance(inner, Html)


def test_nothing_but_the_page_is_needed() -> None:
    _, text = example()
    assert not re.search(r"https?:|url\(|@import|//\w+\.\w", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    for name, kind in (("style", "style-src"), ("script", "script-src")):
        content = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert f"{kind} &#x27;sha256-{digest}&#x27;" in policy[1]
    assert "default-src &#x27;none&#x27;" in policy[1]
    assert "unsafe" not in policy[1]


def test_pages_are_the_same_every_time(tmp_path: Path) -> None:
    code = "from tileir_tools.cli.diff import main; main()"
    pages = []
    for seed in ("1", "2"):
        path = tmp_path / f"{seed}.html"
        arguments = [str(REFERENCE), str(GENERATED), "--format", "html", "-o", str(path)]
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 1
        pages.append(path.read_text(encoding="utf-8"))
    assert pages[0] == pages[1]


def test_command_prints_the_page_where_no_file_is_named() -> None:
    arguments = [f"{ATTENTION}.tileirbc", f"{ATTENTION}.mlir", "--format", "html"]
    result = CliRunner().invoke(diff_command, arguments, standalone_mode=False)
    assert result.return_value == 0
    assert result.output.startswith("<!DOCTYPE html>")
    check(Page(result.output))


def large_kernel(groups: int, latency: str = "") -> str:
    """Six operations for each group, as long as those of real kernels."""
    view = "partition_view<tile=(64x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>"
    lines = [
        "entry @large(%a: tile<ptr<f16>>, %m: tile<i32>, %k: tile<i32>, %s: tile<i32>) {",
        "%t = make_token : token",
        "%x, %y, %z = get_tile_block_id : tile<i32>",
        "%one = constant <i32: 1> : tile<i32>",
        "%v = make_tensor_view %a, shape = [%m, %k], strides = [%s, 1] : tile<i32> "
        "-> tensor_view<?x?xf16, strides=[?,1]>",
        f"%p = make_partition_view %v : {view}",
        "%i0 = addi %x, %one : tile<i32>",
    ]
    for g in range(groups):
        hint = f" optimization_hints = <sm_100 = {{latency = {latency}}}>" if latency else ""
        lines += [
            f"%l{g}, %u{g} = load_view_tko weak %p[%i{g}, %y] token = %t{hint} : {view}, tile<i32> "
            "-> tile<64x64xf16>, token",
            f"%f{g} = ftof %l{g} : tile<64x64xf16> -> tile<64x64xf32>",
            f"%e{g} = exp2 %f{g} : tile<64x64xf32>",
            f"%h{g} = ftof %e{g} : tile<64x64xf32> -> tile<64x64xf16>",
            f"%w{g} = store_view_tko weak %h{g}, %p[%i{g}, %x] token = %u{g} : tile<64x64xf16>, "
            f"{view}, tile<i32> -> token",
            f"%i{g + 1} = addi %i{g}, %one : tile<i32>",
        ]
    return "\n".join([*lines, "return", "}", ""])


def test_size_of_a_large_pair() -> None:
    left, right = large_kernel(250), large_kernel(250, latency="3")
    assert sum(1 for _ in parse(left).walk()) > 1500
    page = report(left, right)
    check(Page(page))
    assert len(page.encode()) < 2_000_000


def test_style_and_script_are_package_data() -> None:
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"tileir_tools.report" = ["page/*"]' in declared
    folder = ROOT / "tileir_tools" / "report" / "page"
    assert {p.name for p in folder.iterdir()} == {"script.js", "style.css"}


# -- links between values ---------------------------------------------------------------------------


def values_of(page: Page) -> dict[str, tuple[int, int | None]]:
    """Id of a definition -> its number, and that of the value in its place."""
    return {
        str(a["id"]): (int(str(a["data-n"])), int(alt) if (alt := a.get("data-alt")) else None)
        for name, a in page.elements
        if name == "b" and "data-n" in a
    }


def test_every_value_is_defined_once_and_equal_ones_share_a_number() -> None:
    _, text = example()
    page = Page(text)
    one, other = load(REFERENCE), load(GENERATED)
    (both,) = correspondences([one], [other])
    values = values_of(page)
    # `check` knows already that ids are unique and that all links lead to one.
    assert len(values) == len(both.numbers)
    counts = [
        Counter(n for id, (n, _) in values.items() if id.startswith(p)) for p in ("p0-a", "p0-b")
    ]
    left, right = (Counter(both.numbers[v] for v in _values(m.entries[0])) for m in (one, other))
    assert counts == [left, right]


def _values(entry: Any) -> Iterator[Any]:
    for op in entry.walk():
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.arguments


def test_values_correspond_by_what_they_are() -> None:
    one, other = load(REFERENCE), load(GENERATED)
    (both,) = correspondences([one], [other])
    left = {v.name: both.numbers[v] for v in _values(one.entries[0])}
    right = {v.name: both.numbers[v] for v in _values(other.entries[0])}
    assert left["%tile"] == right["%l"]
    assert left["%for"] == right["%sum"]
    assert left["%blockId_x"] == left["%blockId_x_25"] == right["%x"]
    assert left["%assume_assume_assume"] == left["%arg2"] == right["%k"] == right["%a1"]
    # Tokens of corresponding operations; a loop's index.
    assert left["%result_token"] == right["%t0"]
    assert left["%loopIdx"] == right["%i"]
    # What differs, or is proven equal by more than identity, stands in for its counterpart.
    assert both.stand_ins[left["%pview_30"]] == right["%vb"]
    assert both.stand_ins[left["%2"]] == right["%out"]
    assert left["%pview_30"] not in right.values()
    assert {a.name for a in both.operations} >= {"for", "mmaf", "load_view_tko", "assume"}


def test_a_kernel_corresponds_to_itself() -> None:
    module = load(f"{ATTENTION}.mlir")
    (both,) = correspondences([module], [module.clone()])
    assert both.stand_ins == {}
    silent = {"yield", "continue"}
    expected = [op for op in module.entries[0].walk() if op.name not in silent]
    assert [op for op in expected if op not in both.operations] == []


def test_rows_hold_every_line_in_order() -> None:
    _, text = example()
    for side in "ab":
        lines = [int(n) for n in re.findall(rf'<td id="p0-{side}(\d+)"', text)]
        assert lines == list(range(len(lines)))
    # The operations of each finding stand in one row.
    for item in Page(text).of_class("finding"):
        row = re.search(rf'<tr>.*?id="{item["data-a"]}".*?</tr>', text)
        assert row is not None
        assert f'id="{item["data-b"]}"' in row[0] or "EQV001" in row[0]


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=7), st.randoms())
@settings(deadline=None)
def test_the_heaviest_chain_is_the_heaviest(pairs: set[tuple[int, int]], random: Any) -> None:
    candidates = [(*pair, random.randint(1, 4)) for pair in sorted(pairs)]
    weight = {pair[:2]: pair[2] for pair in candidates}
    chain = _heaviest_chain(candidates)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in zip(chain, chain[1:]))  # noqa: RUF007
    best = 0
    for count in range(len(candidates) + 1):
        for chosen in combinations(candidates, count):
            if all(a[0] < b[0] and a[1] < b[1] for a, b in zip(chosen, chosen[1:])):  # noqa: RUF007
                best = max(best, sum(c[2] for c in chosen))
    assert sum(weight[pair] for pair in chain) == best


# -- dataflow ---------------------------------------------------------------------------------------


def test_feeds_of_attention() -> None:
    entry = load(f"{ATTENTION}.mlir").entries[0]
    names = [op.name for op in stages(entry)]
    assert names == [
        "load_view_tko",
        *("load_view_tko", "mmaf", "reduce", "reduce", "load_view_tko", "mmaf"),
        "store_view_tko",
    ]
    number = {op: k for k, op in enumerate(stages(entry))}
    found = {(number[f.source], number[f.target]): f for f in feeds(entry)}
    assert found[2, 3].steps == ("mulf", "select")
    assert found[2, 6].steps == ("mulf", "select", "subf", "exp2", "ftof f16")
    assert found[6, 7].steps == ("divf", "ftof f16")
    assert found[6, 6].carried
    assert not found[0, 2].carried
    assert (0, 1) not in found


def test_what_stands_behind_an_operation() -> None:
    entry = load(REFERENCE).entries[0]
    by_line = {op.span.line: op for op in entry.walk() if op.span is not None}
    assert [op.name for op in stages_behind(by_line[48])] == ["store_view_tko"]
    assert [op.name for op in stages_behind(by_line[41])] == ["load_view_tko"]
    assert [op.name for op in stages_behind(by_line[37])] == ["for"]


def test_layers_keep_boxes_apart_and_arrows_downwards() -> None:
    inner = [Box(k, 60 + 10 * k, 30) for k in range(7)]
    frame = Box("loop", 40, 0, inner[2:6])
    root = Box(None, 0, 0, [inner[0], inner[1], frame, inner[6]])
    pairs = [(0, 2), (1, 4), (2, 3), (3, 4), (2, 5), (4, 6), (0, 6)]
    arrows = [Arrow(inner[a], inner[b], "steps" * (a % 2)) for a, b in pairs]
    lay_out(root, arrows)
    for one, other in combinations(inner, 2):
        apart_x = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert apart_x or one.bottom <= other.y or other.bottom <= one.y
    for box in frame.inner:
        assert frame.x <= box.x
        assert box.x + box.width <= frame.x + frame.width
        assert frame.y <= box.y
        assert box.bottom <= frame.bottom
    for arrow in arrows:
        heights = [y for _, y in arrow.points]
        assert heights == sorted(heights)
        # It passes beside every box that it neither leaves nor enters.
        for box in inner:
            if box is not arrow.source and box is not arrow.target:
                assert not any(
                    box.x < x < box.x + box.width and box.y < y < box.bottom
                    for x, y in arrow.points
                )


# -- in a browser -----------------------------------------------------------------------------------

Show = Callable[[str], Any]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium; the tests that need one are skipped where it is not installed."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next((path for name in names if (path := shutil.which(name))), None)
    tool = shutil.which("chromedriver")
    if browser is None or tool is None:
        pytest.skip("Chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    profile = tmp_path_factory.mktemp("profile")
    for argument in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--no-first-run",
        "--window-size=1400,800",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(tool))
    yield driver
    driver.quit()


@pytest.fixture
def show(chromium: Any, tmp_path: Path) -> Iterator[Show]:
    """Opens a page from a file; afterwards the browser must have had nothing to complain about."""

    def opened(text: str) -> Any:
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        chromium.get(path.as_uri())
        chromium.execute_script("localStorage.clear()")
        return chromium

    yield opened
    assert chromium.get_log("browser") == []


def classes(driver: Any, selector: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
    return list(driver.execute_script(script, selector))


def press(driver: Any, key: str) -> None:
    driver.switch_to.active_element.send_keys(key)


def in_sight(driver: Any, selector: str) -> bool:
    script = """
        const box = document.querySelector(arguments[0]).getBoundingClientRect();
        const view = document.querySelector('.shown .code-view').getBoundingClientRect();
        return box.top >= view.top && box.bottom <= view.bottom;"""
    return bool(driver.execute_script(script, selector))


@pytest.mark.browser
def test_page_opens_at_its_first_finding(show: Show) -> None:
    _, text = example()
    driver = show(text)
    assert driver.title.startswith("FAIL_FIXABLE")
    assert classes(driver, ".finding.current b")[0] == "MEM007"
    assert len(classes(driver, "td.marked")) == 2
    assert in_sight(driver, "td.marked")
    assert "padding_value = zero" in classes(driver, "#detail mark")[0]


@pytest.mark.browser
def test_clicking_a_finding_marks_and_shows_its_lines(show: Show) -> None:
    driver = show(report(large_kernel(80), large_kernel(80).replace("exp2 %f77 ", "exp %f77 ")))
    assert in_sight(driver, "td.marked")
    driver.execute_script("document.querySelector('.shown .code-view').scrollTop = 0")
    assert not in_sight(driver, "td.marked")
    driver.find_element("css selector", ".jump").click()
    assert in_sight(driver, "td.marked")
    marked = classes(driver, "td.marked")
    assert len(marked) == 2
    assert "exp2" in marked[0]
    assert "exp" in marked[1]


@pytest.mark.browser
def test_search_and_severities_filter_the_findings(show: Show) -> None:
    _, text = example()
    driver = show(text)
    shown = ".finding:not([hidden]) .jump b"
    search = driver.find_element("id", "search")
    search.send_keys("cvt003")
    assert classes(driver, shown) == ["CVT003"]
    search.clear()
    # The text of the lines counts, too: only one of them says this.
    search.send_keys("rounding<positive_inf>")
    assert classes(driver, shown) == ["EQV001"]
    search.clear()
    # What a rule says in general does not.
    assert "Measured" in text
    search.send_keys("measured")
    assert classes(driver, shown) == []
    assert driver.find_element("id", "none").is_displayed()
    press(driver, "\ue00c")
    assert len(classes(driver, shown)) == 4
    button = driver.find_element("css selector", ".filter.critical")
    button.click()
    assert classes(driver, shown) == ["EQV001"]
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert len(classes(driver, shown)) == 4


@pytest.mark.browser
def test_clicking_a_value_lights_up_all_of_it(show: Show) -> None:
    _, text = example()
    driver = show(text)
    load_line = "//td[contains(., '%tile, %result_token = load_view_tko')]"
    driver.find_element("xpath", f"{load_line}/b[.='%tile']").click()
    assert classes(driver, "b.lit") == ["%tile"]
    assert classes(driver, "a.lit") == ["%tile"]
    # In the other kernel: the definition and the use in the product.
    assert classes(driver, ".mate") == ["%tile", "%tile"]
    ids = driver.execute_script(
        "return [...document.querySelectorAll('.mate')].map(e => e.closest('td').id.slice(0, 4))"
    )
    assert set(ids) == {"p0-b"}
    said = driver.find_element("id", "said").text
    assert "line 43" in said
    assert "equal in the other kernel" in said
    # A use leads to the same; a value that differs has a counterpart of another kind.
    driver.find_element(
        "xpath", "//td[contains(., 'make_partition_view')]/b[.='%pview_30']"
    ).click()
    assert classes(driver, "b.lit") == ["%pview_30"]
    assert classes(driver, ".mate") == []
    assert classes(driver, "b.stand") == ["%pview_18"]
    use = driver.find_element("xpath", "//td[contains(., ' = mmaf')]/a[.='%tile']")
    use.click()
    assert classes(driver, "b.lit") == ["%tile"]
    press(driver, "\ue00c")
    assert classes(driver, ".lit, .mate, .stand, .twin") == []


@pytest.mark.browser
def test_keys(show: Show) -> None:
    _, text = example()
    driver = show(text)
    codes = []
    for key in "jnkp":
        press(driver, key)
        codes += classes(driver, ".finding.current .jump b")
    assert codes == ["CVT003", "HNT004", "CVT003", "MEM007"]
    press(driver, "v")
    assert classes(driver, "b.lit") == ["%pview_30"]
    for key, view in (("2", "flow"), ("3", "hints"), ("1", "code")):
        press(driver, key)
        shown = driver.find_element("css selector", ".view.shown").get_attribute("data-view")
        assert shown == view
    press(driver, "/")
    assert driver.switch_to.active_element.get_attribute("id") == "search"
    press(driver, "j")
    assert classes(driver, ".finding.current .jump b") == ["MEM007"]
    press(driver, "\ue00c")
    assert classes(driver, ".finding.current") == []
    assert driver.switch_to.active_element.tag_name == "body"
    press(driver, "?")
    assert driver.find_element("id", "help").is_displayed()
    press(driver, "\ue00c")
    assert not driver.find_element("id", "help").is_displayed()


@pytest.mark.browser
def test_theme_toggles(show: Show) -> None:
    _, text = example()
    driver = show(text)
    script = "return getComputedStyle(document.body).backgroundColor"
    before = driver.execute_script(script)
    driver.find_element("id", "theme").click()
    after = driver.execute_script(script)
    assert before != after
    press(driver, "t")
    assert driver.execute_script(script) == before


@pytest.mark.browser
def test_picture_and_hints_lead_to_the_lines(show: Show) -> None:
    _, text = example()
    driver = show(text)
    driver.find_element("css selector", ".views [data-view=flow]").click()
    stages_shown = driver.find_elements("css selector", "svg .stage")
    assert len(stages_shown) == 8
    product = driver.find_element("css selector", "svg .product")
    product.click()
    assert "mmaf" in classes(driver, "td.marked")[0]
    assert in_sight(driver, "td.marked")
    driver.find_element("css selector", ".views [data-view=hints]").click()
    assert classes(driver, ".hints td.differs") == ["absent", "1"]
    driver.find_element("css selector", ".hints tr.differs").find_element(
        "xpath", "preceding-sibling::tr[1]//a[1]"
    ).click()
    assert "load_view_tko" in classes(driver, "td.marked")[0]


@pytest.mark.browser
def test_hostile_text_does_nothing_in_a_browser(show: Show) -> None:
    left = hostile(f"{ALERT}<img src=x onerror=alert(2)>", "<img src=x onerror=alert(3)>")
    right = hostile(f"{ALERT}changed", "</style></title><script>alert(4)</script>")
    # An alert would make every further command fail, and what the policy refuses would be logged.
    driver = show(report(left, right, name="<svg onload=alert(5)>.mlir"))
    assert classes(driver, ".finding.current .jump b") == ["DFL007"]
    assert ALERT in classes(driver, "td.marked")[0]
    assert driver.find_elements("css selector", "img") == []


@pytest.mark.browser
def test_pairs_are_shown_one_at_a_time(show: Show) -> None:
    text = REFERENCE.read_text()
    extra = "entry @extra(%a: tile<i32>) {\n  return\n}\n"
    driver = show(report(text + extra, text))
    assert classes(driver, ".finding.current .jump b") == ["ENT001"]
    shown = "return [...document.querySelectorAll('.pair')].map(p => p.offsetParent !== null)"
    assert driver.execute_script(shown) == [False, True]
    driver.find_elements("css selector", ".pairs .tab")[0].click()
    assert driver.execute_script(shown) == [True, False]
