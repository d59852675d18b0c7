"""What every figure of a report means, metric by metric and variant by variant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Definition:
    """A term and what it means.

    Attributes:
        key: name of the metric in the tables; empty for terms that are no metric.
        term: for people.
        text: the definition.
        source: where it comes from.
    """

    key: str
    term: str
    text: str
    source: str = ""


_ORACLE = "Kobeissi & Langlais, oracle evaluation"
_PROTOCOL = "Martinon et al., rigorous evaluation of RAG systems"

RETRIEVAL = (
    Definition(
        "doc_rec", "DocRec@k", "1 if one of the first k chunks stands in the gold filing, else 0.", _ORACLE
    ),
    Definition(
        "page_rec",
        "PageRec@k",
        "Share of the gold pages on which one of the first k chunks stands. Pages of other filings do "
        "not count.",
        _ORACLE,
    ),
    Definition("hit", "Hit@k", "1 if one of the first k chunks stands on a gold page, else 0.", _ORACLE),
    Definition(
        "max_bleu",
        "Max BLEU@k",
        "Greatest sentence BLEU, divided by 100, of one of the first k chunks against the gold evidence, "
        "whose passages are joined by line breaks (sacrebleu, its default smoothing).",
        _ORACLE,
    ),
    Definition(
        "max_rouge_l",
        "Max ROUGE-L@k",
        "Greatest ROUGE-L F-measure, with the Porter stemmer, of one of the first k chunks against the "
        "joined gold evidence. Even the gold pages stay below 1, because a chunk is longer than its "
        "evidence.",
        _ORACLE,
    ),
    Definition(
        "ndcg",
        "NDCG@10",
        "Discounted gain of the first ten chunks over that of an ideal ranking; every chunk on a gold "
        "page has gain 1, the discount is log2(rank + 1).",
        "Järvelin & Kekäläinen, 2002",
    ),
    Definition(
        "mrr", "MRR", "Reciprocal rank of the first chunk on a gold page in the whole ranking; 0 without one."
    ),
    Definition("recall", "Recall@k", "Share of all chunks on gold pages that are among the first k."),
)
"""Metrics of rankings. k counts chunks; for variants with one chunk per page it counts pages."""

ANSWERS = (
    Definition(
        "numeric_match",
        "Numeric match",
        "1 if any number of the gold answer lies within 0.03 plus 3 % of any number of the answer. Unit "
        "and scale are not looked at, a text with many numbers meets it by chance, and a gold answer "
        "without a number scores 0.",
        _ORACLE,
    ),
    Definition(
        "numeric_match_swapped", "Numeric match, swapped", "The same with the 3 % taken of the gold number."
    ),
    Definition(
        "numeric_match_first", "Numeric match, first", "Only the first number of each text is compared."
    ),
    Definition(
        "numeric_match_5_percent",
        "Numeric match, 5 %",
        "Any two numbers within 0.01, or within 5 % of the answered one; an older form.",
    ),
    Definition(
        "numeric_match_all",
        "Numeric match, all",
        "Every number of the gold answer has one within 1 % of itself in the answer; an older form.",
    ),
    Definition(
        "numeric_match_printed",
        "Numeric match, printed",
        "A number stands digit by digit in both texts, but for dollar signs and commas; an older form.",
    ),
    Definition(
        "strict_match",
        "Strict match",
        "Only where the gold answer is one number: the final answer alone has its unit and sign and lies "
        "within half a unit of its last digit, or 0.1 %. An abstention scores 0.",
    ),
    Definition(
        "rouge_l",
        "ROUGE-L",
        "F-measure with the Porter stemmer against the gold answer.",
        f"{_ORACLE}, generation",
    ),
    Definition(
        "abstained", "Abstained", "1 if the answer says that it cannot be had. On these questions a miss."
    ),
    Definition(
        "citation_validity",
        "Citations valid",
        "Share of the cited sources that were retrieved; only where something is cited.",
        _PROTOCOL,
    ),
    Definition(
        "cited_sentences",
        "Cited sentences",
        "Share of the sentences that cite a retrieved source; only where sentences are recorded.",
    ),
)
"""Metrics of answers; several answers to one question are averaged first, so that a question counts once."""

JUDGING = (
    Definition(
        "correct_language",
        "Correct language",
        "The answer is in the language of the question, by a detector; missing below three words.",
        _PROTOCOL,
    ),
    Definition(
        "response",
        "Response",
        "The answer cites a source and is no plain abstention: fewer than half of its sentences say that "
        "it cannot be had.",
        _PROTOCOL,
    ),
    Definition(
        "functional_citation",
        "Functional citation",
        "Of a sentence that cites: every source it cites was retrieved.",
        _PROTOCOL,
    ),
    Definition(
        "relevance", "Relevance", "Of an answer: it answers the question, with nothing off topic.", _PROTOCOL
    ),
    Definition(
        "veracity",
        "Veracity",
        "Of a sentence: all of it follows from the sources it cites; without any, from those of its "
        "answer, else from all that was retrieved.",
        _PROTOCOL,
    ),
    Definition(
        "correctness",
        "Correctness",
        "Of an answer beside a gold one: correct, incorrect or declined; for calibration.",
    ),
)
"""Automatic rates, and what judges and people decide. A verdict that is missing is never a score."""

INTERVALS = (
    Definition(
        "",
        "Means of metrics",
        "Variance over filings, because questions on one filing are not independent, in Wilson's form at "
        "the number of zeros and ones that have this variance (Student's t); half a filing of ones and of "
        "zeros is added before the variance is estimated. Fewer than two filings leave no interval.",
        "Korn & Graubard, 1998",
    ),
    Definition(
        "",
        "Paired tests",
        "Differences question by question; a bootstrap draws filings, each with all of its questions. The "
        "p-value is that of the bootstrap with differences shifted to mean 0, corrected for the number of "
        "systems by Holm's procedure. The detectable difference is the least true one that a single such "
        "test finds with a chance of 80 %.",
        "Davison & Hinkley, 1997; Holm, 1979",
    ),
    Definition(
        "",
        "Shares judged by people",
        "Variance over questions in Wilson's form, at the sample size that the answers are worth "
        "(Student's t).",
    ),
    Definition(
        "",
        "Shares judged by people and a judge",
        "Prediction-powered inference: λ times the judge's mean over all answers, plus what the labels of "
        "people say beyond λ times the verdicts on the same answers; λ is that of least variance over "
        "questions. The normal interval as published stands beside it.",
        "Angelopoulos et al., PPI++",
    ),
    Definition(
        "",
        "Effective n",
        "Labels of people, one per question, that would give an interval as narrow.",
    ),
)
"""How uncertainty is measured."""

SPACES = (
    Definition("corpus", "Whole corpus", "Every filing is searched."),
    Definition(
        "filing",
        "Oracle filing",
        "Only the gold filing is searched: what is left is lost inside the right filing.",
    ),
    Definition(
        "pages", "Oracle pages", "Only the gold pages are searched: what is left is lost inside a page."
    ),
)
"""Search spaces."""
