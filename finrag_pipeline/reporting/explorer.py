"""The question explorer of the report: a list that can be searched, and a page for each question.

Without scripts everything is on the pages for one pair of systems. The script shows other pairs out of data
that stand in the page as JSON, and keeps what was chosen in the address, so that a link can be shared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.reporting.explorer_data import (
    DEPTH,
    EXPLAINED,
    WORDING,
    ExplorerData,
    ExplorerQuestion,
    Outcome,
    Place,
    answer_cards,
    cut,
    outcomes,
    recorded_answers,
    source_text,
)
from finrag_pipeline.reporting.explorer_pages import sheet_view
from finrag_pipeline.reporting.grid import SOURCE_NAMES, space_label, system_title
from finrag_pipeline.reporting.page_pictures import PageImages
from finrag_pipeline.reporting.site import copy_assets, page_names, render_page, write_page
from finrag_pipeline.reporting.tables import LABEL_NAMES, LEVEL_NAMES
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import ABLATIONS

LIST = "questions.html"
FOLDER = "questions"
PICTURES = "pages"

_COMPARED_WITH = "dense"
_TITLE = 110  # characters of a question in the title of its page
_HEADING = 600
_ROW = 360

Pair = tuple[str | None, str | None]
"""Two retrieval systems that are compared; either is None where there are not so many."""


def default_space(data: ExplorerData) -> str:
    """The whole corpus where it was searched."""
    return data.spaces[0] if data.spaces else Space.CORPUS.value


def default_pair(data: ExplorerData) -> Pair:
    """What is compared at first: the best system, and the dense search or the next best."""
    space = default_space(data)

    def mean(system: str) -> float:
        found = [recall_of(question, space, system) for question in data.questions]
        known = [recall for recall in found if recall is not None]
        return sum(known) / len(known) if known else -1.0

    main = [system for system in data.systems if system not in ABLATIONS] or data.systems
    left, *others = [*sorted(main, key=mean, reverse=True), None]
    return left, _COMPARED_WITH if _COMPARED_WITH in others else next(iter(others), None)


def recall_of(question: ExplorerQuestion, space: str, system: str | None) -> float | None:
    """PageRec@5 of a system on a question; None where it was not measured."""
    recall: float | None = question.rankings.get((space, system or ""), {}).get("page_rec")
    return recall


def loss_of(
    question: ExplorerQuestion, retrieval: str | None, space: str, answering: str | None
) -> Mapping[str, Any] | None:
    """Where a question was lost by a retrieval: seen with an answering system, else by itself."""
    found = [loss for loss in question.losses if (loss["retrieval"], loss["space"]) == (retrieval, space)]
    by_answering = {loss["answering"]: loss for loss in reversed(found)}
    return by_answering.get(answering) or by_answering.get(None)


def compare_payload(question: ExplorerQuestion, anchors: Mapping[Place, str]) -> dict[str, Any]:
    """All rankings of a question, with texts and places by number; ``anchors`` are those of pages shown.

    Returns:
        ``places``: ``[filing, page, gold, kind, anchor, why]``, why being that of `EXPLAINED`; ``snippets``;
        ``runs``: by space and system ``{doc, page, depth, hits: [[place, ranks, snippet], …],
        gold: [[place, rank or null], …]}``.
    """
    places: dict[Place, int] = {}
    snippets: dict[str, int] = {}
    gold = [(question.row["filing"], page) for page in question.row["gold_pages"] or ()]

    def number(place: Place) -> int:
        return places.setdefault(place, len(places))

    runs: dict[str, dict[str, Any]] = defaultdict(dict)
    for (space, system), ranking in question.rankings.items():
        hits = []
        for page in ranking["pages"]:
            text = question.snippets.get(page["chunk_id"]) if page["ranks"][0] <= CUTOFF else None
            shown = None if text is None else snippets.setdefault(text, len(snippets))
            place = number((page["filing"], page["page"]))
            hits.append([place, page["ranks"], shown])
        ranks = {(page["filing"], page["page"]): page["rank"] for page in ranking["gold"]}
        runs[space][system] = {
            "doc": recall_text(ranking["doc_rec"]),
            "page": recall_text(ranking["page_rec"]),
            "depth": ranking["depth"],
            "hits": hits,
            "gold": [[number(place), ranks.get(place)] for place in gold],
        }
    told = (question.kinds, anchors, question.reasons)
    return {
        "explained": EXPLAINED,
        "places": [[*place, int(place in gold), *(of.get(place, "") for of in told)] for place in places],
        "snippets": list(snippets),
        "runs": runs,
    }


def recall_text(value: float | None) -> str:
    """``1.00``; a dash where nothing was measured."""
    return "–" if value is None else f"{value:.2f}"


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

    Without ``images`` pages are shown as text; filings are linked as far as they have a link, which is a path
    from the folder of the report. Returns how many questions there are.

    Raises:
        LakeError: a picture cannot be kept in the lake.
    """
    links = question_links(data)
    pair, space = default_pair(data), default_space(data)
    titles = {name: system_title(name) for name in data.systems}
    variants = [name for name in titles if name in ABLATIONS]
    groups = {"Systems": [name for name in titles if name not in variants], "Variants": variants}
    shared: dict[str, Any] = {
        "k": CUTOFF,
        "systems": [(label, names) for label, names in groups.items() if names],
        "spaces": [(name, space_label(name)) for name in data.spaces],
        "space": space,
    }
    html = render_page(
        "questions.html.jinja", "Questions", **shared, **_list_context(data, links, pair, space)
    )
    write_page(target / LIST, html)
    copy_assets(target, "explorer.css", "explorer.js")
    shared |= {
        "depth": DEPTH,
        "titles": titles,
        "filing_links": filing_links or {},
        **WORDING,
        "source_text": source_text,
    }
    pictures = _write_pictures(data, target, images) if images and data.questions else {}
    turns = [
        {
            "link": links[question.question_id].removeprefix(f"{FOLDER}/"),
            "question": cut(question.row["question"], _TITLE),
        }
        for question in data.questions
    ]
    for number, (question, before, after) in enumerate(
        zip(data.questions, [None, *turns], [*turns[1:], None], strict=False), start=1
    ):
        context = _question_context(data, question, pair, space, pictures)
        turn = {"number": number, "total": len(turns), "previous": before, "next": after}
        html = render_page("question.html.jinja", "Questions", "../", **shared, **turn, **context)
        write_page(target / links[question.question_id], html)
    return len(data.questions)


def _write_pictures(data: ExplorerData, target: Path, images: PageImages) -> dict[Place, str]:
    """Write the picture of every page that is shown; its path from the report, or why there is none.

    A path begins with ``pages/``; anything else is a sentence.
    """
    wanted: dict[str, list[int]] = defaultdict(list)
    for (filing, page), content in data.pages.items():
        if content["problem"] is None:
            wanted[filing].append(page)
    names = page_names(sorted(wanted))
    found: dict[Place, str] = {}
    (target / PICTURES).mkdir(exist_ok=True)
    for filing, pages in sorted(wanted.items()):
        for page, picture in images(filing, pages).items():
            if isinstance(picture, str):
                found[filing, page] = picture
                continue
            found[filing, page] = f"{PICTURES}/{names[filing]}_p{page + 1}.webp"
            (target / found[filing, page]).write_bytes(picture)
    return found


def _list_context(data: ExplorerData, links: Mapping[str, str], pair: Pair, space: str) -> dict[str, Any]:
    left, right = pair
    series = next(iter(data.series), None)
    told = [outcomes(question.answers) for question in data.questions]
    answering = series.system if series and (series.retrieval, series.space) == (left, space) else None
    rows = [
        {
            **question.row,
            "link": links[question.question_id],
            "question": cut(question.row["question"], _ROW),
            "source": question.source,
            "recalls": [
                (recall_text(value), recall_mark(value), value)
                for value in (recall_of(question, space, system) for system in pair)
            ],
            "outcome": found.get(series) if series else None,
            "loss": loss_of(question, left, space, answering),
        }
        for question, found in zip(data.questions, told, strict=True)
    ]
    losses = [loss for question in data.questions for loss in question.losses]
    levels = {loss["level"]: LEVEL_NAMES.get(loss["level"], loss["level"]) for loss in losses}
    labels = {label: _label(label) for loss in losses for label in loss["labels"]}
    of_loss = ("retrieval", "answering", "space", "level", "labels")
    payload = {
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
        "retrieval": {one.key: list(one) for one in data.series},
        "losses": [
            [[loss[name] for name in of_loss] for loss in question.losses] for question in data.questions
        ],
        "levels": levels,
        "labels": labels,
    }
    return {
        "rows": rows,
        "left": left,
        "right": right,
        "series": data.series,
        "levels": levels,
        "labels": labels,
        "choices": {
            "type": [(name, name) for name in _distinct(rows, "question_type")],
            "form": [(name, name) for name in _distinct(rows, "doc_type")],
            "company": [(name, name) for name in _distinct(rows, "company")],
            "source": [(name, SOURCE_NAMES.get(name, name)) for name in _distinct(rows, "source")],
            "level": list(levels.items()),
            "label": list(labels.items()),
            "outcome": [(one.code, one.value) for one in Outcome] if data.series else [],
        },
        "payload": payload,
    }


def _label(label: str) -> str:
    return LABEL_NAMES.get(label, label.replace("_", " "))


def _distinct(rows: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    return sorted({row[name] for row in rows if row[name]}, key=str.casefold)


def recall_mark(value: float | None) -> str:
    """All, some or none of the gold pages, as a sign."""
    if value is None:
        return ""
    return "●" if value >= 1 else "◐" if value > 0 else "○"


def _question_context(
    data: ExplorerData, question: ExplorerQuestion, pair: Pair, space: str, pictures: Mapping[Place, str]
) -> dict[str, Any]:
    row = question.row
    anchors = {shown["place"]: f"page-{number}" for number, shown in enumerate(question.shown, start=1)}
    # Others stand in the place of systems that did not rank this question.
    known = [system for system in data.systems if (space, system) in question.rankings]
    left, right, *_ = [*dict.fromkeys([*(one for one in pair if one in known), *known]), None, None]
    payload = compare_payload(question, anchors)
    order = {left: 0, right: 1}
    losses: list[dict[str, Any]] = [
        {
            **loss,
            "system": f"{loss['answering']} on {loss['retrieval']}"
            if loss["answering"]
            else loss["retrieval"],
            "space": space_label(loss["space"]),
            "lost": loss["level"] != "none",
            "level": LEVEL_NAMES.get(loss["level"], loss["level"]),
            "labels": [_label(label) for label in loss["labels"]],
            "first": loss["retrieval"] in order,
        }
        for loss in question.losses
    ]
    losses.sort(key=lambda loss: (order.get(loss["retrieval"], 2), loss["answering"] is not None))
    return {
        "row": row,
        "title": cut(row["question"], _TITLE),
        "heading": cut(row["question"], _HEADING),
        "whole": row["question"] if len(row["question"]) > _HEADING else None,
        "source": SOURCE_NAMES.get(question.source or "", "Not in the lake"),
        "evidence": [(one["filing"], one["page"], _tight(one["text"])) for one in row["evidence"] or ()],
        "losses": losses,
        "cards": answer_cards(question.answers),
        "recorded": recorded_answers(question.answers),
        "anchors": anchors,
        "input_link": lambda one: (
            f"#{anchor}" if (anchor := anchors.get((one["filing"], one["page"]))) else None
        ),
        "left": left,
        "right": right,
        "payload": payload,
        "sheets": [
            sheet_view(shown, data.pages[place], pictures.get(place), anchors[place])
            for shown in question.shown
            for place in [shown["place"]]
        ],
    }


def _tight(passage: str) -> str:
    """A passage without blank lines: copied tables have one after each cell."""
    return cut("\n".join(line.strip() for line in passage.splitlines() if line.strip()))
