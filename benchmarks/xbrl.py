"""Re-reads the inline XBRL of a lake's filings with another parser, and holds every fact to it.

    FINRAG_LAKE=lake python -m benchmarks.xbrl

The other parser is the standard library's; it knows numbers with a decimal point and zeros, no words.
Columns: numbers tagged, and the share that ``xbrl_facts`` has with the same concept, value, unit, period and
members; numbers of statements that are tagged, and the share with the value and the period of the tag; then
what was read of tables before the tags were taken: numbers found, values, periods.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchmarks import arguments
from finrag_pipeline.filings.originals import get_source, original_path
from finrag_pipeline.settings import get_settings
from finrag_pipeline.statements.tags import Agreement, agreement
from finrag_pipeline.storage.lake import Lake

_IX = "{http://www.xbrl.org/2013/inlineXBRL}"
_XBRLI = "{http://www.xbrl.org/2003/instance}"
_XBRLDI = "{http://xbrl.org/2006/xbrldi}"
_NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_PLACE = itemgetter("page", "table", "row", "column")
_COLUMNS = ("taxonomy", "concept", "value", "measure", "period_start", "period_end", "members")


def read_again(path: Path) -> Iterator[tuple[Any, ...]]:
    """The tagged numbers of a document in order, as `_COLUMNS` name them; ... for a value in words."""
    root = ElementTree.parse(path).getroot()
    contexts = {one.get("id"): one for one in root.iter(f"{_XBRLI}context")}
    units = {one.get("id"): _measures(one) for one in root.iter(f"{_XBRLI}unit")}
    for element in root.iter(f"{_IX}nonFraction"):
        taxonomy, _, concept = element.attrib["name"].partition(":")
        context = contexts[element.get("contextRef")]
        start, end, instant = (
            context.findtext(f"{_XBRLI}period/{_XBRLI}{name}") for name in ("startDate", "endDate", "instant")
        )
        members = sorted(
            (one.attrib["dimension"].rpartition(":")[2], (one.text or "").strip().rpartition(":")[2])
            for one in context.iter(f"{_XBRLDI}explicitMember")
        )
        typed = any(True for _ in context.iter(f"{_XBRLDI}typedMember"))
        said = ... if typed else [member for _, member in members]
        unit = units.get(element.get("unitRef"))
        yield taxonomy, concept, _value(element), unit, start, end or instant, said


def _value(element: ElementTree.Element) -> Any:
    kind = element.get("format", "").rpartition(":")[2]
    digits = re.sub(r"[^\d.]", "", "".join(element.itertext()))
    if element.get(_NIL) == "true":
        return None
    if kind == "numwordsen":
        return ...
    if kind == "fixed-zero":
        return 0.0
    return float(f"{element.get('sign', '')}{digits}e{element.get('scale') or 0}")


def _measures(unit: ElementTree.Element) -> str:
    parts = [unit.find(f".//{_XBRLI}unit{side}") for side in ("Numerator", "Denominator")]
    return "/".join(
        "*".join((one.text or "").strip() for one in part.iter(f"{_XBRLI}measure"))
        for part in (parts if None not in parts else [unit])
        if part is not None
    )


def same(one: Any, other: Any) -> bool:
    """Whether two records agree in all that both know."""
    return all(left is ... or right is ... or left == right for left, right in zip(one, other, strict=True))


def main() -> None:
    arguments(__doc__).parse_args()
    lake = Lake(get_settings().lake)
    heads = ("tags", "same", "facts", "same", "found", "value", "period")
    print("{:<28} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}".format("filing", *heads))
    totals = [0] * 7
    for keys in lake.partitions("xbrl_facts"):
        tags = lake.read("xbrl_facts", keys)
        if not tags.num_rows:
            continue
        source = get_source(lake, keys["filing"])
        with lake.local_copy(original_path(lake, source)) as path:
            again = list(read_again(path))
        numbers = [row for row in tags.to_pylist() if row["text"] is None]
        records = [_record(row) for row in numbers]
        right = sum(map(same, records, again)) if len(records) == len(again) else 0
        tagged = reversed(list(zip(numbers, again, strict=True)))
        by_place = {_PLACE(row): record for row, record in tagged if row["row"] is not None}
        facts = [fact for fact in lake.read("statement_facts", keys).to_pylist() if fact["source"] == "ixbrl"]
        kept = sum(_PLACE(fact) in by_place and _keeps(fact, by_place[_PLACE(fact)]) for fact in facts)
        read = agreement(tags)[keys["filing"]]
        counts = (len(again), right, len(facts), kept, *read[1:])
        totals = [total + one for total, one in zip(totals, counts, strict=True)]
        _show(keys["filing"], len(again), right, len(facts), kept, read)
    _show("all", *totals[:4], Agreement(0, *totals[4:]))


def _record(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(
        str(value) if name.startswith("period_") and value is not None else value
        for name, value in ((name, row[name]) for name in _COLUMNS)
    )


def _keeps(fact: dict[str, Any], record: tuple[Any, ...]) -> bool:
    """Whether a fact of a statement has the size and the days of its tag, and its concept if of the whole."""
    _, concept, value, _, start, end, members = record
    days = (fact["period_start"] and str(fact["period_start"]), str(fact["period_end"]))
    named = fact["concept"] in (concept, None) if not members else fact["concept"] is None
    return days == (start, end) and named and (value is ... or abs(fact["value"]) == abs(value))


def _show(name: str, tags: int, right: int, facts: int, kept: int, read: Agreement) -> None:
    rates = (right / max(tags, 1), facts, kept / max(facts, 1))
    found = (read.found, read.values / max(read.found, 1), read.periods / max(read.found, 1))
    print("{:<28} {:>6} {:>6.3f} {:>6} {:>6.3f} {:>6} {:>6.3f} {:>6.3f}".format(name, tags, *rates, *found))


if __name__ == "__main__":
    main()
