"""The cells of one table: kind, number, unit, scale and period of each."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from finrag_pipeline.tables.applied_scale import WIDE, Source, applied_scale
from finrag_pipeline.tables.context import TableContext
from finrag_pipeline.tables.fiscal_calendar import DAY, months_of
from finrag_pipeline.tables.model import Cell, Table, column_extents
from finrag_pipeline.tables.paths import Headers, header_block, read_paths
from finrag_pipeline.tables.periods import (
    FEWEST_QUARTERS,
    Period,
    are_quarters,
    month_and_day,
    only_quarter,
    parse_periods,
    quarter_named,
    quarter_to,
)
from finrag_pipeline.tables.row_periods import only_period, row_periods, shifted, stated_above
from finrag_pipeline.tables.scale import (
    find_scale,
    marks_of,
    noted_scales,
    only_scale,
    scales_in,
    without_scale,
)
from finrag_pipeline.tables.units import (
    MONEY,
    RATE,
    RATE_LIKE,
    SPLIT,
    UNIT_VALUE,
    Unit,
    column_unit,
    counts_awards,
    find_unit,
    is_per_unit,
    unit_of_words,
)
from finrag_pipeline.tables.values import DASH, ParsedValue, parse_value


class ColumnFacts:
    """What the numbers of a column have in common; dashes are none.

    Attributes:
        numbers: how many there are.
        whole, two, other: how many have no decimals, two, or another number of them, per cent and years
            aside.
        percent_first: the first bears a per cent sign, and no later one is money or has groups of digits.
        money: some bear a sign of currency.
        amounts: the column is no one of per cent, whatever stands above it.
        largest: the greatest size of one.
    """

    def __init__(self, values: Sequence[ParsedValue]) -> None:
        decimals = Counter(value.decimals for value in values if not (value.percent or value.looks_like_year))
        later = any(value.grouped or value.currency for value in values[1:])
        self.numbers = len(values)
        self.whole, self.two = decimals[0], decimals[2]
        self.other = decimals.total() - self.whole - self.two
        self.percent_first = bool(values) and values[0].percent and not later
        self.money = any(value.currency for value in values)
        self.amounts = self.money or 3 * sum(value.grouped for value in values) > self.numbers
        self.largest = max((abs(value.number or 0) for value in values), default=0.0)


_PAGE_COLUMN = re.compile(
    r"page(?: ?(?:no\.?|number|s))?|notes?(?: reference)?|ref(?:erence)?s?\.?|item(?: no\.?)?", re.IGNORECASE
)
_SAME_EDGE = 15.0
# No company's equity comes near.
_MOST_EQUITY = 5e12
_STOCK_WORDS = re.compile(r"\b(?:treasury|shares|stock)\b", re.IGNORECASE)
_SHORT_HEADING = 60
_BLOCK_GAP = 60.0
_UNITS_LINES = 6
_HINT_LINES = 4
_CHANGE = re.compile(
    r"\bchange|\bvs\b|increase|decrease|\bvariance\b|(?:19|20)\d\d|thereafter", re.IGNORECASE
)
_YEAR_HEADING = re.compile(
    r"(?:fiscal(?: year)? |fy ?|year )?(?:19|20)\d\d(?:\s*\(\w{1,2}\))*:?", re.IGNORECASE
)
_OF_QUARTERS = ("quarters",)
"""All that is to be known of the lines above a table whose columns are quarters."""
_A_YEAR = re.compile(r"(?:19|20)\d\d")
_FEWEST_DAYS = 2
_YEAR = re.compile(r"\byear\b", re.IGNORECASE)
_AS_OF = re.compile(r"\bas (?:of|at)\b|\bat (?=[a-z]{3,9}\.? \d)", re.IGNORECASE)
_CONTINUED = re.compile(r"\W*\(?\bcont(?:inued|’d|'d|\.)?\)?\W*", re.IGNORECASE)


class TableReader:
    """Reads the cells of a table in the light of its filing and of the table before."""

    def __init__(self, table: Table, context: TableContext, before: TableReader | None) -> None:
        self.table = table
        self.context = context
        goes_on = before if before is not None and _goes_on(table, before) else None
        self.paths = read_paths(table, goes_on.headers if goes_on else None)
        follows = goes_on or (before if before is not None and _follows(table, before.table) else None)
        self._column_paths = self.paths.column_paths()
        self._parsed = {
            (cell.row, cell.column): parse_value(cell.text)
            for cell in table.cells
            if cell.row not in self.paths.header_rows and (cell.column > 0 or not self.paths.labelled)
        }
        self._numbered = {row for (row, _), value in self._parsed.items() if value.kind == "number"}
        self._sources = self._find_sources(follows)
        self._hints = self._find_hints(goes_on)
        known = follows._hints if follows else ()
        self._kinds = (*self._hints, *(hint for hint in known if _AS_OF.search(hint) and "ended" not in hint))
        signs = Counter(value.currency for value in self._parsed.values() if value.currency)
        self._currency = signs.most_common(1)[0][0] if signs else context.currency
        numbers: dict[int, list[ParsedValue]] = {column: [] for _, column in self._parsed}
        for (_, column), value in self._parsed.items():
            if value.kind == "number":
                numbers[column].append(value)
        self._columns = {column: ColumnFacts(values) for column, values in numbers.items()}
        rules = [rule for source in self._sources for rule in source.rules]
        self._share_table = any(rule.applies == "shares" or "shares" in rule.exempt for rule in rules)
        self._money_rules = [
            rule
            for source in self._sources
            if source.place not in WIDE
            for rule in source.rules
            if rule.applies in ("all", "currency")
        ]
        self._money = bool(signs) or any(rule.scale != 1 for rule in self._money_rules)
        self._percent_decimals = self._find_percent_decimals()
        self._awards = counts_awards(self.paths.labels, self._hints)
        self._exempts_per_share = any("per share" in rule.exempt for rule in rules)
        self._names_per_share = any(
            unit_of_words(label) == "currency/share" for label in self.paths.labels if label is not None
        )
        self._exempts_rates = any(rule.exempt & {"ratio", "percent"} for rule in rules)
        self._row_periods = row_periods(self.paths.rows, context.calendar, self._hints)
        self._row_years = self._find_row_years()
        self._stated = stated_above(self._hints, context.calendar)
        self._noted = noted_scales(table.below)
        self._sections = self._find_sections()

    @property
    def block(self) -> bool:
        """Whether the table is but the headers of the one below it."""
        return not any(facts.numbers for facts in self._columns.values())

    @cached_property
    def headers(self) -> Headers:
        """Headers for a table that continues this one."""
        return header_block(self.table) if self.block else self.paths.headers

    @property
    def stated_money(self) -> Source | None:
        """The nearest scale stated for amounts of this table, or of that which it follows."""
        rule = next((rule for rule in self._money_rules if rule.scale > 1), None)
        return Source("tables around", (replace(rule, applies="currency"),)) if rule else None

    def take_scale(self, source: Source) -> None:
        """Take a scale where none is stated, if amounts of thousands and more are printed."""
        large = any(
            value.currency and value.grouped and not value.decimals for value in self._parsed.values()
        )
        if large and not self._sources:
            self._sources = (source,)

    def finding(self, cell: Cell) -> dict[str, Any]:
        """What is known of a cell of the table, by columns of ``page_tables``, and its ``period``."""
        row, column = cell.row, cell.column
        if row in self.paths.header_rows:
            return {"kind": "header"}
        value = self._parsed.get((row, column))
        if value is None:
            return {"kind": "label"}
        path = self._column_paths[row][column]
        if value.kind == "text":
            return {"kind": "text", "reason": value.reason}
        dash = value.reason == DASH
        if value.number is None or (dash and not self._is_zero(value, row, column)):
            return {"kind": "missing", "reason": value.reason}
        if path and _PAGE_COLUMN.fullmatch(path[-1]):
            return {"kind": "text", "reason": f"a reference: column {path[-1]}"}
        if value.looks_like_year:
            return {"kind": "text", "reason": "a year"}
        unit, told_by = self._unit(value, row, column, path)
        near = self._near(row, column)
        if unit is None and (counted := self._counted(value, near)):
            unit, told_by = "count", counted
        scale, source = applied_scale(value, unit, told_by, near, self._sources, self._money)
        if scale > 1 and unit != "shares" and self._counts_shares(value, scale, row, path):
            unit, scale, source = "shares", 1.0, f"too large for {source}"
        if unit is None and self._money and not value.percent:
            unit = "currency"
        money = unit in ("currency", "currency/share")
        return {
            "kind": "missing" if dash else "number",
            "printed": None if dash else value.number,
            "value": round(value.number * scale, 6 if scale >= 1 else 12),
            "scale": scale,
            "scale_source": source,
            "unit": unit,
            "currency": (value.currency or self._currency) if money else None,
            "period": self._period(row, column),
            "reason": value.reason,
        }

    def _is_zero(self, dash: ParsedValue, row: int, column: int) -> bool:
        """Whether a dash stands among numbers: with a sign of currency, in its column or in its row."""
        return dash.currency is not None or bool(self._columns[column].numbers) or row in self._numbered

    def _find_sources(self, before: TableReader | None) -> tuple[Source, ...]:
        table, found = self.table, []
        found.append(Source("stub header", find_scale(self.paths.headers.stub)))
        # '2018 (in millions)' speaks of all columns where no other says anything else.
        heads = [
            cell.text for cell in table.cells if cell.row in self.paths.header_rows and scales_in(cell.text)
        ]
        if len({scales_in(head)[0].scale for head in heads}) == 1 and all(
            not (bare := without_scale(head)) or only_period(bare) for head in heads
        ):
            found.append(Source("header", scales_in(heads[0])))
        caption = table.caption or ""
        # The nearest line counts first. A bracket may open on one line and close on the next.
        for rule in reversed(find_scale(table.above[-_UNITS_LINES:])):
            found.append(Source("caption" if rule.words in caption else "units line", (rule,)))
        found.append(Source("caption", find_scale([caption])))
        if before is not None:
            found += [
                Source(f"table before, {source.place.removeprefix('table before, ')}", source.rules)
                for source in before._sources
                if source.place not in (*WIDE, "running head")
            ]
        place = "running head" if table.page in self.context.running_heads else "page head"
        found.append(Source(place, self.context.page_scales.get(table.page, ())))
        if default := self.context.default_scale(table.page):
            found.append(Source("filing", (default,)))
        return tuple(source for source in found if source.rules)

    def _find_hints(self, before: TableReader | None) -> tuple[str, ...]:
        above = [line for line in self.table.above[-_HINT_LINES:] if len(line) <= 160]
        caption = [self.table.caption] if self.table.caption else []
        own = (*self.paths.headers.stub, *caption, *reversed(above))
        return (*own, *(before._hints if before else ()))

    def _find_percent_decimals(self) -> set[int]:
        """Digits behind the mark of numbers of per cent, where amounts have none."""
        found: set[int] = set()
        for (row, column), value in self._parsed.items():
            if value.decimals and (value.currency or value.grouped):
                return set()
            path = self._column_paths[row][column]
            if value.decimals and (value.percent or (path and column_unit(path[-1]) == "percent")):
                found.add(value.decimals)
        return found

    def _find_sections(self) -> dict[int, Source]:
        """Scale set by a row of the body that holds nothing else, for each row below it."""
        found: dict[int, Source] = {}
        current: Source | None = None
        for row, label in enumerate(self.paths.labels):
            if row in self.paths.headings and label and only_scale(label):
                current = Source("row above", find_scale([label]))
            if current:
                found[row] = current
        return found

    def _find_row_years(self) -> list[str | None]:
        """The heading that tells a year: of the row, or the nearest row above that has one."""
        found: list[str | None] = []
        year = next(filter(_YEAR_HEADING.fullmatch, self.paths.headers.stub), None)
        for path in self.paths.rows:
            year = next(filter(_YEAR_HEADING.fullmatch, path), year)
            found.append(year)
        return found

    def _near(self, row: int, column: int) -> list[Source]:
        """Scales of the row, its headings and its column."""
        sources = []
        for place, label in enumerate(reversed(self.paths.rows[row])):
            sources.append(Source("heading" if place else "row label", scales_in(label)))
        for header in reversed(self._column_paths[row][column]):
            sources.append(Source("column header", scales_in(header)))
        marked = [*self.paths.rows[row][-1:], *self._column_paths[row][column]] if self._noted else []
        for mark in (mark for text in reversed(marked) for mark in marks_of(text)):
            sources.append(Source("footnote", self._noted.get(mark, ())))
        sources.append(self._sections.get(row, Source("row above", ())))
        return [source for source in sources if source.rules]

    def _unit(
        self, value: ParsedValue, row: int, column: int, path: tuple[str, ...]
    ) -> tuple[Unit | None, str]:
        rows = self.paths.rows[row]
        facts = self._columns[column]
        unit, told_by = find_unit(value, rows, path, self._share_table, facts.amounts)
        label = rows[-1] if rows else ""
        price = value.decimals == 2 and not value.grouped
        if unit in (None, "currency") and price and is_per_unit(label):
            return "currency/share", label
        if unit in (None, "currency") and price and self._awards and path and UNIT_VALUE.search(path[-1]):
            return "currency/share", path[-1]
        if unit not in (None, "currency") or told_by:
            return unit, told_by
        if price:
            if SPLIT.match(label):
                return "currency/share", label
            if self._exempts_per_share and facts.whole >= 2 and not facts.other:
                return "currency/share", "two decimals among whole amounts"
            if self._names_per_share and facts.two >= 2 and not (facts.whole or facts.other):
                return "currency/share", "two decimals throughout, as in a row per share"
        if unit is None and not self._money and self._share_table:
            return "shares", "shares only"
        if unit is None and self._awards and not (facts.money or any(map(MONEY.search, (label, *path)))):
            return "shares", "share awards"
        if unit is None and value.decimals in self._percent_decimals:
            return "percent", "decimals, which only per cent have"
        small = value.decimals > 0 or (facts.largest <= 100 and not MONEY.search(label))
        if unit is None and facts.percent_first and not value.grouped and small:
            return "percent", "signs in the column"
        if unit is None and value.decimals and not value.grouped:
            if RATE.search(label) and abs(value.number or 0) <= 100:
                return "percent", label
            if self._exempts_rates and any(map(RATE_LIKE.search, (*rows[-2:], *path))):
                return "ratio", label
        return unit, told_by

    def _counted(self, value: ParsedValue, near: Sequence[Source]) -> str | None:
        """The words that say that things are counted: 'Connections (000)' in a table of dollars."""
        rule = next((rule for source in near for rule in source.rules), None)
        wide = [rule for source in self._sources for rule in source.rules]
        if rule is None or value.currency:
            return None
        dollars = any(other.applies == "currency" for other in wide)
        thousands = rule.applies == "all" and "000" in rule.words and dollars
        return rule.words if rule.applies == "count" or thousands else None

    def _counts_shares(self, value: ParsedValue, scale: float, row: int, path: tuple[str, ...]) -> bool:
        """Whether a number without a sign, in a row or column about stock, is too large for money."""
        if value.currency or abs(value.number or 0) * scale < _MOST_EQUITY:
            return False
        return bool(_STOCK_WORDS.search(" ".join((*self.paths.rows[row], *path))))

    def _period(self, row: int, column: int) -> Period | None:
        calendar, path, label = self.context.calendar, self._column_paths[row][column], self.paths.labels[row]
        hints = self._hints if any(_YEAR.search(header) for header in path) else self._kinds
        if self._has_quarters:
            hints = _OF_QUARTERS
        period = parse_periods(path, calendar, hints) if path else None
        own = self._row_periods[row]
        if own is not None and own.kind == "instant" and period is not None and _encloses(period, own):
            # 'Balance, June 30, 2024' under 'Nine Months Ended March 31, 2025'
            return own
        quarter = quarter_named(path, self._tells_of_quarters)
        whole = self._has_quarters and not _CHANGE.search(" ".join(path))
        undated = quarter or whole or any(map(month_and_day, path))
        if period is None and path and undated and (year := self._year_beside(row)):
            # Quarters in the columns, years in the rows, above the table or above some of the columns alone.
            period = parse_periods((year, *path), calendar, hints)
        if period is None and own is not None and not quarter:
            return own
        if period is None and not _CHANGE.search(" ".join(path)):
            period = self._beside(row, column) if path else None
            if period is None and not quarter:
                period = self._stated or self._common
        end = period.end if period is not None else None
        if end is not None and (
            (_is_year(period) and end in self._quarters) or (end.month, end.day) in self._quarter_days
        ):
            period = quarter_to(end, calendar)
        if period is not None and _is_year(period) and label is not None and only_quarter(label):
            # Quarters in the rows, years in the columns.
            period = parse_periods((f"fiscal {period.fiscal_year}", label), calendar, self._hints)
        return shifted(period, label, calendar)

    def _year_beside(self, row: int) -> str | None:
        """The year of columns that name none: of rows, of all other columns, or stated above the table."""
        if self._row_years[row] or not self._tells_of_quarters:
            return self._row_years[row]
        if len(self._years_of_columns) == 1:
            return next(iter(self._years_of_columns))
        stated = self._stated
        return f"fiscal {stated.fiscal_year}" if stated is not None and stated.fiscal_year else None

    @cached_property
    def _all_paths(self) -> list[tuple[str, ...]]:
        return [path for path in dict.fromkeys(itertools.chain(*self._column_paths)) if path]

    @cached_property
    def _tells_of_quarters(self) -> bool:
        """Whether headers or what stands above the table speak of quarters."""
        return any("quarter" in words.lower() for words in itertools.chain(self._hints, *self._all_paths))

    @cached_property
    def _has_quarters(self) -> bool:
        """Whether columns are quarters of a year."""
        named = {quarter_named(path, self._tells_of_quarters) for path in self._all_paths}
        return len(named - {None}) >= FEWEST_QUARTERS

    @cached_property
    def _years_of_columns(self) -> set[str]:
        """All years that headers name."""
        return set(_A_YEAR.findall(" ".join(itertools.chain(*self._all_paths))))

    @cached_property
    def _common(self) -> Period | None:
        """The only period that columns name: a header over all of them may seem to span but some."""
        if any(map(_YEAR_HEADING.fullmatch, itertools.chain(*self._all_paths))):
            return None  # a bare year may head its own columns alone
        found = [parse_periods(path, self.context.calendar, self._kinds) for path in self._all_paths]
        dated = [period for period in found if period is not None]
        return dated[0] if len(dated) > 1 and len(set(dated)) == 1 else None

    @cached_property
    def _quarters(self) -> set[dt.date]:
        """Last days of quarters, where columns would be years that end with each of them."""
        if not self._tells_of_quarters:
            return set()
        found = (parse_periods(path, self.context.calendar, self._kinds) for path in self._all_paths)
        ends = {one.end for one in found if one is not None and one.end is not None and _is_year(one)}
        return ends if are_quarters(ends) else set()

    @cached_property
    def _quarter_days(self) -> set[tuple[int, int]]:
        """Days, whatever the year, that columns name in a table of quarters whose rows name the years."""
        named = (month_and_day(path[-1]) for path in self._all_paths if not any(map(_A_YEAR.search, path)))
        days = {day for day in named if day is not None}
        return days if self._tells_of_quarters and len(days) > _FEWEST_DAYS else set()

    def _beside(self, row: int, column: int) -> Period | None:
        """The period of the column on the left, if one of this name stands behind every period.

        As in '2024', 'Percent to sales', '2023', 'Percent to sales', and not in '2023', 'Acquisitions',
        '2024', 'Acquisitions', '2025', where they lie between two days.
        """
        paths = self._column_paths[row]
        periods = [
            parse_periods(path, self.context.calendar, self._kinds) if path else None for path in paths
        ]
        twins = [at for at, path in enumerate(paths) if at and path and path[-1] == paths[column][-1]]
        left = [periods[at - 1] for at in twins]
        each = len(twins) > 1 and None not in left and set(left) == set(periods) - {None}
        return periods[column - 1] if each and len(set(left)) == len(left) else None


def _is_year(period: Period | None) -> bool:
    """Whether a period has the length of a year."""
    return period is not None and period.kind == "duration" and months_of(period.start, period.end) == 12


def _encloses(period: Period, day: Period) -> bool:
    """Whether a day is one of a duration, or the one before it."""
    if period.kind != "duration" or period.start is None or period.end is None or day.end is None:
        return False
    return period.start - DAY <= day.end <= period.end


def _goes_on(table: Table, reader: TableReader) -> bool:
    """Whether a table continues the one before: as its detector says, by its caption, or by its columns.

    A table without headers whose columns stand under those of the table before it, on the same page or,
    without a caption, at the head of the next one, is its rest.
    """
    if table.continues:
        return True
    before = reader.table
    apart = table.page - before.page
    if apart > 1:
        return False
    if table.caption and before.caption and _bare(table.caption) == _bare(before.caption):
        return True
    if table.header_rows or (apart and table.caption):
        return False
    if reader.block:
        return not apart and 0 <= table.box.y0 - before.box.y1 <= _BLOCK_GAP
    edges = [right for _, right in column_extents(table)[1:] if right]
    known = [right for _, right in reader.headers.extents if right]
    return bool(edges) and all(any(abs(edge - other) <= _SAME_EDGE for other in known) for edge in edges)


def _follows(table: Table, before: Table) -> bool:
    """Whether no more than a short heading stands between a table and the one before: its scale goes on."""
    if table.page == before.page:
        return len(table.above) <= 3 and all(len(line) <= _SHORT_HEADING for line in table.above)
    return not table.caption and not table.above and table.page == before.page + 1


def _bare(caption: str) -> str:
    return _CONTINUED.sub(" ", caption).strip().casefold()
