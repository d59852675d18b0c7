"""The question explorer of the report: a list that can be searched, and a page for each question.

Without scripts everything is on the pages for one pair of systems. The script shows other pairs out of data
that stand in the page as JSON, and keeps what was chosen in the address, so that a link can be shared.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.reporting.explorer_data import (
    DEPTH,
    EXPLAINED,
    AnswerSeries,
    ExplorerData,
    ExplorerQuestion,
    Loss,
    Outcome,
    Place,
    Ranking,
    answer_cards,
    cell_text,
    cut,
    number_text,
    outcomes,
    recorded_answers,
    scale_text,
    source_text,
)
from finrag_pipeline.reporting.explorer_pages import sheet_view
from finrag_pipeline.reporting.grid import SOURCE_NAMES, space_label, system_title
from finrag_pipeline.reporting.page_pictures import PageImages
from finrag_pipeline.reporting.site import TEMPLATES, page_names, render_page
from finrag_pipeline.reporting.tables import LABEL_NAMES, LEVEL_NAMES
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import ABLATIONS

if TYPE_CHECKING:
    from markupsafe import Markup


_COMPARED_WITH = "dense"


def default_space(data: ExplorerData) -> str:
    """The whole corpus where it was searched."""
    return data.spaces[0] if data.spaces else Space.CORPUS.value


def default_pair(data: ExplorerData) -> tuple[str | None, str | None]:
    """The two systems that are compared at first: the best one, and the dense search or the next best.

    Either is None where there are not so many.
    """
    space = default_space(data)

    def mean(system: str) -> float:
        known = [
            ranking.page_rec
            for question in data.questions
            if (ranking := question.rankings.get((space, system))) and ranking.page_rec is not None
        ]
        return sum(known) / len(known) if known else -1.0

    main = [system for system in data.systems if system not in ABLATIONS] or data.systems
    ranked = sorted(main, key=mean, reverse=True)
    left = ranked[0] if ranked else None
    others = [system for system in ranked if system != left]
    right = _COMPARED_WITH if _COMPARED_WITH in others else (others[0] if others else None)
    return left, right


def system_options(data: ExplorerData) -> list[tuple[str, list[tuple[str, str]]]]:
    """(name, title) of the systems in groups: systems, and variants of them."""
    groups = {
        "Systems": [name for name in data.systems if name not in ABLATIONS],
        "Variants": [name for name in data.systems if name in ABLATIONS],
    }
    return [
        (label, [(name, system_title(name)) for name in names]) for label, names in groups.items() if names
    ]


def space_options(data: ExplorerData) -> list[tuple[str, str]]:
    """(name, label) of the search spaces."""
    return [(space, space_label(space)) for space in data.spaces]


def compare_payload(question: ExplorerQuestion, anchors: Mapping[Place, str]) -> dict[str, Any]:
    """All rankings of a question, with texts and places by number.

    Args:
        question: the question.
        anchors: identifier on the page of each place that is shown as it looks.

    Returns:
        ``places``: ``[filing, page, gold, kind, anchor, why]``, why being that of `EXPLAINED`; ``snippets``;
        ``runs``: by space and system ``{doc, page, depth, hits: [[place, ranks, score, snippet], …],
        gold: [[place, rank or null], …]}``.
    """
    places: dict[Place, int] = {}
    snippets: dict[str, int] = {}
    gold = [(question.row["filing"], page) for page in question.row["gold_pages"] or ()]

    def number(place: Place) -> int:
        return places.setdefault(place, len(places))

    runs: dict[str, dict[str, Any]] = {}
    for (space, system), ranking in question.rankings.items():
        hits = []
        for page in ranking.pages:
            text = question.snippets.get(page.chunk_id) if page.ranks[0] <= CUTOFF else None
            shown = None if text is None else snippets.setdefault(text, len(snippets))
            hits.append([number(page.place), list(page.ranks), score_text(page.score), shown])
        runs.setdefault(space, {})[system] = {
            "doc": recall_text(ranking.doc_rec),
            "page": recall_text(ranking.page_rec),
            "depth": ranking.depth,
            "hits": hits,
            "gold": [[number(place), ranking.gold.get(place)] for place in gold],
        }
    return {
        "explained": EXPLAINED,
        "places": [
            [
                filing,
                page,
                int(question.is_gold((filing, page))),
                question.kinds.get((filing, page), ""),
                anchors.get((filing, page), ""),
                question.reasons.get((filing, page), ""),
            ]
            for filing, page in places
        ],
        "snippets": list(snippets),
        "runs": runs,
    }


def recall_text(value: float | None) -> str:
    """``1.00``; a dash where nothing was measured."""
    return "–" if value is None or math.isnan(value) else f"{value:.2f}"


def score_text(value: float) -> str:
    """A score in four digits, whatever its size."""
    return f"{value:.4g}".replace("-", "−") if math.isfinite(value) else "–"


def recall_of(question: ExplorerQuestion, space: str, system: str | None) -> float | None:
    """PageRec@5 of a system on a question; None where it was not measured."""
    ranking: Ranking | None = question.rankings.get((space, system)) if system else None
    if ranking is None or ranking.page_rec is None or math.isnan(ranking.page_rec):
        return None
    return ranking.page_rec


def loss_of(
    question: ExplorerQuestion, retrieval: str | None, space: str, answering: str | None
) -> Loss | None:
    """Where a question was lost by a retrieval: seen with an answering system, else by itself."""
    found = [loss for loss in question.losses if (loss.retrieval, loss.space) == (retrieval, space)]
    for wanted in (answering, None):
        for loss in found:
            if loss.answering == wanted:
                return loss
    return None


def level_name(level: str) -> str:
    """A level as people read it."""
    return LEVEL_NAMES.get(level, level)


def label_name(label: str) -> str:
    """A failure mode as people read it."""
    return LABEL_NAMES.get(label, label.replace("_", " "))


LIST = "questions.html"
FOLDER = "questions"
PICTURES = "pages"
ASSETS = ("explorer.css", "explorer.js")

_TITLE = 110  # characters of a question in the title of its page
_HEADING = 600
_ROW = 360


def question_links(data: ExplorerData) -> dict[str, str]:
    """Path of the page of each question from the folder of the report, by identifier."""
    names = page_names(question.question_id for question in data.questions)
    return {question_id: f"{FOLDER}/{name}.html" for question_id, name in names.items()}


def write_explorer(
    data: ExplorerData,
    target: Path,
    images: PageImages | None = None,
    filing_links: Mapping[str, str] | None = None,
) -> int:
    """Write ``questions.html``, a page per question below ``questions/``, and pictures below ``pages/``.

    Args:
        data: what to show; may hold no question at all.
        target: folder of the report.
        images: makes pictures of pages; pages are shown as text without.
        filing_links: path of the page of a filing from the folder of the report; filings without one are not
            linked.

    Returns:
        How many questions there are.

    Raises:
        LakeError: a picture cannot be kept in the lake.
    """
    links, filings = question_links(data), filing_links or {}
    (target / "assets").mkdir(exist_ok=True)
    for name in ASSETS:
        (target / "assets" / name).write_bytes((TEMPLATES / name).read_bytes())
    _write(target / LIST, render_page("questions.html.jinja", "Questions", **_list_context(data, links)))
    if not data.questions:
        return 0
    (target / FOLDER).mkdir(exist_ok=True)
    pictures = _write_pictures(data, target, images)
    shared, pair = _shared_context(data), default_pair(data)
    for number, question in enumerate(data.questions):
        context = _question_context(data, number, pair, links, filings, pictures)
        html = render_page("question.html.jinja", "Questions", "../", **shared, **context)
        _write(target / links[question.question_id], html)
    return len(data.questions)


def _write(path: Path, html: str) -> None:
    path.write_bytes(html.encode("utf-8", "replace"))


def _write_pictures(data: ExplorerData, target: Path, images: PageImages | None) -> dict[Place, str]:
    """Write the picture of every page that is shown; its path from the report, or why there is none.

    A path begins with ``pages/``; anything else is a sentence.
    """
    if images is None:
        return {}
    wanted: dict[str, list[int]] = defaultdict(list)
    for place, content in data.pages.items():
        if content.problem is None:
            wanted[place[0]].append(place[1])
    names = page_names(sorted(wanted))
    found: dict[Place, str] = {}
    (target / PICTURES).mkdir(exist_ok=True)
    for filing, pages in sorted(wanted.items()):
        for page, picture in images.get(filing, pages).items():
            if isinstance(picture, str):
                found[filing, page] = picture
                continue
            path = f"{PICTURES}/{names[filing]}_p{page + 1}.webp"
            (target / path).write_bytes(picture)
            found[filing, page] = path
    return found


# -- the list --------------------------------------------------------------------------------------


def _default_series(data: ExplorerData) -> AnswerSeries | None:
    return data.series[0] if data.series else None


def _list_context(data: ExplorerData, links: Mapping[str, str]) -> dict[str, Any]:
    left, right = default_pair(data)
    space, series = default_space(data), _default_series(data)
    told = [outcomes(question.answers) for question in data.questions]
    rows = [
        _list_row(question, links[question.question_id], left, right, space, series, found)
        for question, found in zip(data.questions, told, strict=True)
    ]
    losses = [loss for question in data.questions for loss in question.losses]
    levels = dict.fromkeys(loss.level for loss in losses)
    labels = dict.fromkeys(label for loss in losses for label in loss.labels)
    return {
        "k": CUTOFF,
        "rows": rows,
        "left": left,
        "right": right,
        "space": space,
        "systems": system_options(data),
        "spaces": space_options(data),
        "series": [(one.key, one.title, one.given, one.recorded) for one in data.series],
        "answered_by": series.key if series else "",
        "choices": {
            "type": _distinct(rows, "type"),
            "form": _distinct(rows, "form"),
            "company": _distinct(rows, "company"),
            "source": [(name, SOURCE_NAMES.get(name, name)) for name, _ in _distinct(rows, "source")],
            "level": [(name, level_name(name)) for name in levels],
            "label": [(name, label_name(name)) for name in labels],
            "outcome": [(one.code, one.value) for one in Outcome] if data.series else [],
        },
        "payload": embedded(
            {
                "recall": {
                    space: {
                        system: [recall_of(question, space, system) for question in data.questions]
                        for system in data.systems
                    }
                    for space in data.spaces
                },
                "outcomes": {
                    one.key: "".join(found[one].code if one in found else "." for found in told)
                    for one in data.series
                },
                "words": {one.code: [one.mark, one.value] for one in Outcome},
                "retrieval": {one.key: [one.system, one.retrieval, one.space] for one in data.series},
                "losses": [
                    [
                        [loss.retrieval, loss.answering, loss.space, loss.level, list(loss.labels)]
                        for loss in question.losses
                    ]
                    for question in data.questions
                ],
                "levels": {name: level_name(name) for name in levels},
                "labels": {name: label_name(name) for name in labels},
            }
        ),
    }


def _distinct(rows: Sequence[Mapping[str, Any]], name: str) -> list[tuple[str, str]]:
    return [(value, value) for value in sorted({row[name] for row in rows if row[name]}, key=str.casefold)]


def _list_row(
    question: ExplorerQuestion,
    link: str,
    left: str | None,
    right: str | None,
    space: str,
    series: AnswerSeries | None,
    found: Mapping[AnswerSeries, Outcome],
) -> dict[str, Any]:
    row = question.row
    recalls = [recall_of(question, space, system) for system in (left, right)]
    answering = series.system if series and (series.retrieval, series.space) == (left, space) else None
    loss = loss_of(question, left, space, answering)
    return {
        "id": question.question_id,
        "link": link,
        "question": cut(row["question"], _ROW),
        "filing": row["filing"],
        "company": row["company"] or "",
        "type": row["question_type"] or "",
        "form": row["doc_type"] or "",
        "source": question.source or "",
        "excluded": row["problem"] if row["status"] != "measured" else None,
        "recalls": [(recall_text(value), recall_mark(value), value) for value in recalls],
        "outcome": found.get(series) if series else None,
        "level": level_name(loss.level) if loss else "",
        "labels": [label_name(label) for label in loss.labels] if loss else [],
        "why": loss.why if loss else "",
    }


def recall_mark(value: float | None) -> str:
    """All, some or none of the gold pages, as a sign."""
    if value is None:
        return ""
    return "●" if value >= 1 else "◐" if value > 0 else "○"


# -- a question ------------------------------------------------------------------------------------


def _shared_context(data: ExplorerData) -> dict[str, Any]:
    titles = {name: system_title(name) for name in data.systems}
    return {
        "k": CUTOFF,
        "depth": DEPTH,
        "systems": system_options(data),
        "spaces": space_options(data),
        "titles": titles,
        "titles_json": embedded({"titles": titles, "k": CUTOFF}),
        "cut": cut,
        "cell_text": cell_text,
        "number_text": number_text,
        "scale_text": scale_text,
        "source_text": source_text,
    }


def _question_context(
    data: ExplorerData,
    number: int,
    pair: Sequence[str | None],
    links: Mapping[str, str],
    filing_links: Mapping[str, str],
    pictures: Mapping[Place, str],
) -> dict[str, Any]:
    question = data.questions[number]
    row = question.row
    anchors = {shown.place: f"page-{place}" for place, shown in enumerate(question.shown, start=1)}
    space = default_space(data)
    left, right = _pair(data, question, space, pair)

    payload = compare_payload(question, anchors)

    def neighbour(place: int) -> dict[str, str] | None:
        if not 0 <= place < len(data.questions):
            return None
        other = data.questions[place]
        link = links[other.question_id].removeprefix(f"{FOLDER}/")
        return {"link": link, "question": cut(other.row["question"], _TITLE)}

    return {
        "number": number + 1,
        "total": len(data.questions),
        "previous": neighbour(number - 1),
        "next": neighbour(number + 1),
        "row": row,
        "title": cut(row["question"], _TITLE),
        "heading": cut(row["question"], _HEADING),
        "whole": row["question"] if len(row["question"]) > _HEADING else None,
        "source": SOURCE_NAMES.get(question.source or "", "Not in the lake"),
        "gold_pages": [
            (page + 1, anchors.get((row["filing"], page))) for page in sorted(row["gold_pages"] or ())
        ],
        "filing_link": filing_links.get(row["filing"]),
        "answer": cut(row["answer"]),
        "justification": cut(row["justification"] or ""),
        "evidence": [
            (one["filing"], one["page"] + 1, anchors.get((one["filing"], one["page"])), _tight(one["text"]))
            for one in row["evidence"] or ()
        ],
        "losses": _loss_rows(question, left, right),
        "cards": answer_cards(question.answers),
        "recorded": recorded_answers(question.answers),
        "anchors": anchors,
        "left": left,
        "right": right,
        "space": space,
        "payload": payload,
        "ranked": embedded(payload),
        "sheets": [
            sheet_view(shown, data.pages[shown.place], pictures.get(shown.place), anchors[shown.place])
            for shown in question.shown
        ],
        "filing_links": filing_links,
    }


def _pair(
    data: ExplorerData, question: ExplorerQuestion, space: str, default: Sequence[str | None]
) -> tuple[str | None, str | None]:
    """The default pair, with others in the place of systems that did not rank this question."""
    known = [system for system in data.systems if (space, system) in question.rankings]
    wanted = [system for system in default if system in known]
    found = list(dict.fromkeys([*wanted, *known]))
    return (found[0] if found else None), (found[1] if len(found) > 1 else None)


def embedded(value: Any) -> Markup:
    """A value as JSON that may stand inside a script element, whatever its texts hold."""
    from jinja2.utils import htmlsafe_json_dumps

    dumps = partial(json.dumps, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return htmlsafe_json_dumps(value, dumps=dumps)


def _tight(passage: str) -> str:
    """A passage without blank lines: copied tables have one after each cell."""
    return cut("\n".join(line.strip() for line in passage.splitlines() if line.strip()))


def _loss_rows(question: ExplorerQuestion, left: str | None, right: str | None) -> list[dict[str, Any]]:
    """What the analysis of the retrieval gap says: the compared systems first, then others."""
    order = {left: 0, right: 1}
    rows = [
        {
            "system": f"{loss.answering} on {loss.retrieval}" if loss.answering else loss.retrieval,
            "space": space_label(loss.space),
            "level": level_name(loss.level),
            "lost": loss.level != "none",
            "labels": [label_name(label) for label in loss.labels],
            "why": cut(loss.why, 600),
            "place": loss.place,
            "first": loss.retrieval in order,
            "order": (order.get(loss.retrieval, 2), loss.answering is not None),
        }
        for loss in question.losses
    ]
    return sorted(rows, key=lambda row: row["order"])
