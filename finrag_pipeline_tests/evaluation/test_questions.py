from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.questions import (
    DocumentInformation,
    find_document_information,
    load_questions,
    normalise_form,
    read_document_information,
)
from finrag_pipeline.schemas import conform

COUNTS = {"ACME_2020_10K": 10, "ACME_2021_10K": 20, "BRIM_2021Q2_10Q": 5}


def evidence(page, text="some text", name="ACME_2020_10K", **extra):
    return {"evidence_text": text, "doc_name": name, "evidence_page_num": page, **extra}


def question(question_id="q1", pages=(3,), **overrides):
    return {
        "financebench_id": question_id,
        "question": "What is the revenue?",
        "answer": "$1",
        "question_type": "metrics-generated",
        "question_reasoning": "Information extraction",
        "justification": "It says so.",
        "company": "Acme",
        "doc_name": "ACME_2020_10K",
        "evidence": [evidence(page) for page in pages],
        **overrides,
    }


def write(path: Path, *lines) -> Path:
    path.write_text(
        "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines),
        encoding="utf-8",
    )
    return path


def load(tmp_path: Path, *lines, documents: Path | None = None, counts=COUNTS, corpus=None):
    return load_questions(
        write(tmp_path / "questions.jsonl", *lines), documents, counts, counts if corpus is None else corpus
    )


def test_a_question_is_read_with_its_pages_distinct_ascending_and_page_zero_counted(tmp_path):
    loaded = load(tmp_path, question(pages=(4, 0, 4, 2)), question("q2", pages=(0,)))
    first, second = loaded.table.to_pylist()
    assert loaded.problems == []
    assert first == {
        "question_id": "q1",
        "question": "What is the revenue?",
        "answer": "$1",
        "justification": "It says so.",
        "question_type": "metrics-generated",
        "reasoning": "Information extraction",
        "company": "Acme",
        "filing": "ACME_2020_10K",
        "doc_type": "10-K",
        "gold_pages": [0, 2, 4],
        "evidence": [{"filing": "ACME_2020_10K", "page": p, "text": "some text"} for p in (4, 0, 4, 2)],
        "status": "measured",
        "problem": None,
    }
    assert second["gold_pages"] == [0]
    assert second["status"] == "measured"


def test_evidence_may_name_its_filing_in_either_field(tmp_path):
    old = {"evidence_text": "t", "evidence_doc_name": "ACME_2020_10K", "evidence_page_num": 0}
    both = {**old, "doc_name": None}
    loaded = load(tmp_path, question(evidence=[old]), question("q2", evidence=[both]))
    assert loaded.problems == []
    assert loaded.table["gold_pages"].to_pylist() == [[0], [0]]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("10k", "10-K"),
        ("10K_ANNUAL", "10-K"),
        ("10k_annualreport", "10-K"),
        ("10-K/A", "10-K"),
        ("10q", "10-Q"),
        ("8k", "8-K"),
        ("Earnings", "EARNINGS"),
        ("ACME_2022_8K_dated-2022-05-20", "8-K"),
        ("ACME_2023_EARNINGS-dated-2023-06-01", "EARNINGS"),
        ("ACME_2023Q4_EARNINGS", "EARNINGS"),
        ("Acme_2023Q2_10Q", "10-Q"),
        ("ACME_2023_annualreport", None),
        ("20-F", None),
        ("8Q", None),
        ("", None),
        (None, None),
    ],
)
def test_forms_are_normalised(text, form):
    assert normalise_form(text) == form


def test_doc_type_comes_from_the_documents_file_then_the_name_then_is_null(tmp_path):
    documents = write(
        tmp_path / "documents.jsonl",
        {"doc_name": "ACME_2020_10K", "doc_type": "Earnings"},
        {"doc_name": "acme_2021_10k", "doc_type": "8k"},
        {"doc_name": "NOTE", "doc_type": "memo"},
    )
    counts = {**COUNTS, "NOTE": 4}
    lines = [
        question("a"),
        question("b", doc_name="ACME_2021_10K", evidence=[evidence(1, name="ACME_2021_10K")]),
        question("c", doc_name="BRIM_2021Q2_10Q", evidence=[evidence(1, name="BRIM_2021Q2_10Q")]),
        question("d", doc_name="NOTE", evidence=[evidence(1, name="NOTE")]),
    ]
    loaded = load(tmp_path, *lines, documents=documents, counts=counts)
    assert loaded.table["doc_type"].to_pylist() == ["EARNINGS", "8-K", "10-Q", None]


def test_broken_lines_are_reported_and_left_out_and_the_rest_is_read(tmp_path):
    loaded = load(tmp_path, question("a"), '{"financebench_id": "b", ', "", "[1]", '"text"', question("c"))
    assert loaded.table["question_id"].to_pylist() == ["a", "c"]
    assert [p.split(":")[0] for p in loaded.problems] == [f"questions.jsonl, line {n}" for n in (2, 4, 5)]
    assert "broken JSON" in loaded.problems[0]
    assert "a list where an object is expected" in loaded.problems[1]
    assert all("left out" in p for p in loaded.problems)


@pytest.mark.parametrize(
    "name", ["financebench_id", "question", "answer", "question_type", "company", "doc_name"]
)
@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (..., "is missing"),
        (None, "is missing"),
        (7, "is a number"),
        (True, "is a boolean"),
        (["x"], "is a list"),
        (" \t", "is empty"),
        ("\ud800", "surrogate"),
    ],
)
def test_a_required_text_that_is_not_there_leaves_the_line_out(tmp_path, name, value, complaint):
    faulty = question("bad")
    if value is ...:
        del faulty[name]
    else:
        faulty[name] = value
    loaded = load(tmp_path, faulty, question("good"))
    assert loaded.table["question_id"].to_pylist() == ["good"]
    (problem,) = loaded.problems
    assert problem.startswith("questions.jsonl, line 1: ")
    assert f"'{name}'" in problem
    assert complaint in problem


def test_all_faulty_fields_of_a_line_are_named_at_once(tmp_path):
    (problem,) = load(tmp_path, {"question": 1}).problems
    assert all(f"'{name}'" in problem for name in ("financebench_id", "question", "answer", "doc_name"))


def test_an_optional_text_of_the_wrong_type_is_reported_and_read_as_null(tmp_path):
    loaded = load(tmp_path, question(justification=5, question_reasoning=None))
    (row,) = loaded.table.to_pylist()
    assert (row["status"], row["justification"], row["reasoning"]) == ("measured", None, None)
    assert "'justification' is a number" in loaded.problems[0]


def test_a_second_question_of_one_identifier_is_left_out(tmp_path):
    loaded = load(tmp_path, question("a", answer="first"), question("b"), question("a", answer="second"))
    assert loaded.table["answer"].to_pylist() == ["first", "$1"]
    assert loaded.problems == [
        "questions.jsonl, line 3: question 'a' stands already on line 1. "
        "Give every question its own identifier."
    ]


@pytest.mark.parametrize(
    ("items", "complaint"),
    [
        (None, "'evidence' is missing"),
        ([], "'evidence' is empty"),
        ({"evidence_text": "x"}, "'evidence' is not a list"),
        (["text"], "evidence 1: is not an object"),
        ([evidence(1), evidence(None)], "evidence 2: field 'evidence_page_num' is missing"),
        ([evidence("3")], "'evidence_page_num' is a string"),
        ([evidence(3.0)], "'evidence_page_num' is the number 3.0"),
        ([evidence(True)], "'evidence_page_num' is a boolean"),
        ([evidence(2**31)], "'evidence_page_num' is too large"),
        ([evidence(1, text=None)], "'evidence_text' is missing"),
        ([evidence(1, name=None)], "'evidence_doc_name' is missing"),
    ],
)
def test_a_question_with_faulty_evidence_is_kept_as_excluded(tmp_path, items, complaint):
    loaded = load(tmp_path, question("bad", evidence=items), question("good"))
    assert loaded.table["status"].to_pylist() == ["excluded", "measured"]
    (problem,) = loaded.problems
    assert problem.startswith("questions.jsonl, line 1: ")
    assert complaint in problem
    assert loaded.table["problem"].to_pylist() == [problem, None]


@pytest.mark.parametrize("pages", [(10,), (3, 10), (-1,), (2**31 - 1,)])
def test_a_gold_page_that_the_filing_does_not_have_excludes_the_question(tmp_path, pages):
    loaded = load(tmp_path, question(pages=pages), question("last", pages=(9,)))
    bad, last = loaded.table.to_pylist()
    assert (bad["status"], last["status"]) == ("excluded", "measured")
    assert loaded.problems == [bad["problem"]]
    assert "line 1" in bad["problem"]
    assert "whose 10 pages count from 0" in bad["problem"]


def test_a_gold_filing_outside_the_corpus_is_reported_once_with_all_its_lines(tmp_path):
    loaded = load(tmp_path, question("a"), question("b"), corpus=["ACME_2021_10K"])
    assert loaded.table["status"].to_pylist() == ["excluded", "excluded"]
    (problem,) = loaded.problems
    assert problem.startswith("questions.jsonl, lines 1, 2: gold filing 'ACME_2020_10K'")
    assert "line 2" in loaded.table["problem"][1].as_py()


def test_an_unreadable_gold_filing_excludes_the_question(tmp_path):
    loaded = load(tmp_path, question(), counts={}, corpus=["ACME_2020_10K"])
    (row,) = loaded.table.to_pylist()
    assert row["status"] == "excluded"
    assert "could not be read" in row["problem"]
    assert loaded.problems == [row["problem"]]


def test_evidence_of_another_filing_is_kept_but_gives_no_gold_page(tmp_path):
    items = [evidence(3), evidence(7, name="ACME_2021_10K")]
    loaded = load(tmp_path, question("a", evidence=items), question("b", evidence=items[1:]))
    first, second = loaded.table.to_pylist()
    assert (first["status"], first["gold_pages"]) == ("measured", [3])
    assert [item["filing"] for item in first["evidence"]] == ["ACME_2020_10K", "ACME_2021_10K"]
    assert (second["status"], second["gold_pages"]) == ("excluded", [])
    assert "evidence 2 names the filing 'ACME_2021_10K'" in loaded.problems[0]
    assert "no evidence stands in the question's filing" in second["problem"]


def test_a_filing_is_found_in_another_case_unless_two_would_fit(tmp_path):
    loaded = load(tmp_path, question(doc_name="Acme_2020_10k"))
    assert loaded.table["filing"].to_pylist() == ["ACME_2020_10K"]
    assert loaded.table["status"].to_pylist() == ["measured"]
    ambiguous = load(tmp_path, question(doc_name="Acme_2020_10k"), counts={**COUNTS, "acme_2020_10K": 10})
    assert ambiguous.table["status"].to_pylist() == ["excluded"]


def test_a_name_that_is_unsafe_as_a_partition_key_finds_its_filing(tmp_path):
    from finrag_pipeline.filings.names import filing_id

    name = "Acme & Söhne 2020 10-K"
    identifier = filing_id(name + ".pdf")
    assert identifier != name
    documents = write(tmp_path / "documents.jsonl", {"doc_name": name, "doc_type": "8k"})
    line = question(doc_name=name, evidence=[evidence(1, name=name)])
    loaded = load(tmp_path, line, documents=documents, counts={identifier: 3})
    (row,) = loaded.table.to_pylist()
    assert (row["status"], row["filing"], row["doc_type"]) == ("measured", identifier, "8-K")
    assert row["gold_pages"] == [1]


def test_separators_that_json_allows_inside_strings_do_not_cut_a_line(tmp_path):
    text = "before\u2028after\u0085end"
    line = json.dumps(question(question=text), ensure_ascii=False)
    loaded = load(tmp_path, line)
    assert loaded.table["question"].to_pylist() == [text]


def test_crlf_line_ends_and_a_byte_order_mark_are_harmless(tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + (json.dumps(question()) + "\r\n").encode())
    loaded = load_questions(file, None, COUNTS, COUNTS)
    assert (loaded.table.num_rows, loaded.problems) == (1, [])


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (json.dumps(question()).encode("utf-16"), "UTF-16"),
        (b'{"a": "fine"}\n{"a": "caf\xe9"}\n', "byte 0xe9 on line 2"),
        (json.dumps([question()]).encode(), "JSON array"),
    ],
)
def test_files_in_another_encoding_or_format_are_refused_with_a_remedy(tmp_path, data, complaint):
    file = tmp_path / "questions.jsonl"
    file.write_bytes(data)
    for read in (lambda: load_questions(file, None, COUNTS, COUNTS), lambda: read_document_information(file)):
        with pytest.raises(BenchmarkError) as caught:
            read()
        assert complaint in caught.value.reason
        assert str(file) in caught.value.reason
        assert caught.value.remedy


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "absent.jsonl", tmp_path):
        with pytest.raises(BenchmarkError, match="cannot be read"):
            load_questions(path, None, COUNTS, COUNTS)


def test_numbers_and_nesting_that_the_parser_refuses_are_broken_lines(tmp_path):
    loaded = load(tmp_path, '{"a": ' + "9" * 5000 + "}", '{"a":' * 100_000, question())
    assert loaded.table.num_rows == 1
    assert len(loaded.problems) == 2
    assert all(len(problem) < 400 for problem in loaded.problems)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
MUTATION = st.tuples(st.sampled_from([*question(), "evidence.0"]), JSON)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(mutations=st.lists(MUTATION, max_size=3))
def test_whatever_a_line_holds_the_table_conforms_and_nothing_is_lost_in_silence(tmp_path, mutations):
    faulty = question("bad")
    for name, value in mutations:
        if name == "evidence.0":
            faulty["evidence"] = [value]
        else:
            faulty[name] = value
    loaded = load(tmp_path, faulty, question("good"))
    table = conform(loaded.table, "benchmark_questions")
    rows = {row["question_id"]: row for row in table.to_pylist()}
    if table.num_rows < 2 or any(row["status"] == "excluded" for row in rows.values()):
        assert loaded.problems
    for row in rows.values():
        if row["status"] == "measured":
            assert row["gold_pages"]
            assert all(0 <= page < COUNTS[row["filing"]] for page in row["gold_pages"])


def test_document_information_reports_duplicates_and_faults_and_keeps_the_first_row(tmp_path):
    file = write(
        tmp_path / "documents.jsonl",
        {
            "doc_name": "ACME_2020_10K",
            "company": "Acme",
            "gics_sector": "Industrials",
            "doc_type": "10k",
            "doc_period": 2020,
            "doc_link": "https://example.com/a.pdf",
        },
        {"doc_name": "ACME_2020_10K", "company": "Acme", "doc_type": "10k", "doc_period": 2019},
        "{",
        {"company": "no name"},
        {"doc_name": "BRIM_8K", "doc_period": "2021", "doc_type": 3},
    )
    information, problems = read_document_information(file)
    assert information == {
        "ACME_2020_10K": DocumentInformation(
            "ACME_2020_10K", "Acme", "Industrials", "10-K", 2020, "https://example.com/a.pdf"
        ),
        "BRIM_8K": DocumentInformation("BRIM_8K", None, None, "8-K", 2021, None),
    }
    assert [problem.split(":")[0] for problem in sorted(problems)] == [
        f"documents.jsonl, line {line}" for line in (2, 3, 4, 5)
    ]
    assert any("stands already on line 1 with another sector, year, link" in p for p in problems)


def test_information_is_found_in_another_case_but_an_exact_name_wins():
    upper, lower = DocumentInformation("A_10K", year=1), DocumentInformation("a_10k", year=2)
    assert find_document_information({"A_10K": upper}, "a_10K") == upper
    assert find_document_information({"A_10K": upper, "a_10k": lower}, "a_10k") == lower
    assert find_document_information({"A_10K": upper, "a_10k": lower}, "A_10k") is None
    assert find_document_information({}, "A_10K") is None
