from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from finrag_pipeline.errors import ModelError
from finrag_pipeline.retrieval.component import Inputs
from finrag_pipeline.retrieval.first_stages import Splade
from finrag_pipeline.retrieval.splade import SpladeEncoder, SpladeIndex
from finrag_pipeline.settings import SpladeSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.tiny_transformers import POSITIONS, write_tiny_bert

TEXTS = [
    "net revenue of the year",
    "goodwill and debt",
    "",
    "cash flow of the company " * 30,
    "goodwill and debt",
]
QUESTION = "What was net revenue?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bert(tmp_path_factory.mktemp("splade") / "bert", "BertForMaskedLM")


def _encoder(folder: Path, lake: Lake, **changes: Any) -> SpladeEncoder:
    return SpladeEncoder(SpladeSettings(name=str(folder), **changes), lake)


def _expected(folder: Path, text: str, longest: int = POSITIONS, terms: int | None = None) -> np.ndarray:
    """w(t) = max over tokens of ln(1 + relu(logit)) (SPLADE v2), by transformers alone."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        tokens = tokenizer(text, truncation=True, max_length=longest, padding=False, return_tensors="pt")
        weights = model(**tokens).logits[0].relu().log1p().amax(dim=0).numpy()
    if terms is not None:
        weights[np.argsort(-weights)[terms:]] = 0
    return np.asarray(weights)


class TestEncoder:
    def test_weights_by_the_formula_of_the_paper(self, folder: Path, lake: Lake) -> None:
        found = _encoder(folder, lake).documents(TEXTS).toarray()
        for row, text in zip(found, TEXTS, strict=True):
            np.testing.assert_allclose(row, _expected(folder, text), atol=1e-5)

    def test_no_more_terms_than_asked_and_those_of_largest_weight(self, folder: Path, lake: Lake) -> None:
        encoder = _encoder(folder, lake, terms=9)
        for found, texts in ((encoder.documents(TEXTS), TEXTS), (encoder.question(QUESTION), [QUESTION])):
            assert found.getnnz(axis=1).tolist() == [9] * len(texts)
            for row, text in zip(found.toarray(), texts, strict=True):
                np.testing.assert_allclose(row, _expected(folder, text, terms=9), atol=1e-5)

    def test_long_texts_are_cut(self, folder: Path, lake: Lake) -> None:
        found = _encoder(folder, lake, max_length=16).documents([TEXTS[3]]).toarray()[0]
        np.testing.assert_allclose(found, _expected(folder, TEXTS[3], longest=16), atol=1e-5)
        assert not np.allclose(found, _expected(folder, TEXTS[3]), atol=1e-3)

    def test_no_text_is_encoded_twice(self, folder: Path, lake: Lake) -> None:
        first = _encoder(folder, lake).documents(TEXTS)
        encoder = _encoder(folder, lake)
        found = encoder.documents(TEXTS)
        assert "_model" not in vars(encoder), "nor are weights loaded for what is kept"
        np.testing.assert_array_equal(found.toarray(), first.toarray())
        np.testing.assert_array_equal(found[1].toarray(), found[4].toarray())

    def test_a_question_is_encoded_once_and_not_kept(self, folder: Path, lake: Lake) -> None:
        encoder = _encoder(folder, lake)
        assert encoder.question(QUESTION) is encoder.question(QUESTION)
        assert not lake.fs.exists(lake.root)

    def test_the_fingerprint(self, folder: Path, tmp_path: Path, lake: Lake) -> None:
        base = _encoder(folder, lake).fingerprint
        other = write_tiny_bert(tmp_path / "other", "BertForMaskedLM", seed=1)
        assert _encoder(folder, lake, batch_size=2).fingerprint == base
        others = (
            _encoder(other, lake),
            _encoder(folder, lake, terms=9),
            _encoder(folder, lake, max_length=16),
        )
        assert len({base, *(encoder.fingerprint for encoder in others)}) == 4

    def test_a_published_layout_with_its_pooling(self, folder: Path, tmp_path: Path, lake: Lake) -> None:
        """As sentence-transformers saves it, which says 'max_seq_length' and the pooling itself."""
        from sentence_transformers import SparseEncoder

        SparseEncoder(str(folder)).save_pretrained(str(tmp_path / "saved"))
        found = _encoder(tmp_path / "saved", lake).documents(TEXTS)
        np.testing.assert_allclose(
            found.toarray(), _encoder(folder, lake).documents(TEXTS).toarray(), atol=1e-5
        )


class TestRefused:
    def test_another_encoder(self, tiny_model: Path, lake: Lake) -> None:
        """The library would put a sparse layer of random weights behind it."""
        with pytest.raises(ModelError, match="is no SPLADE model") as caught:
            _encoder(tiny_model, lake).documents(TEXTS)
        assert "FINRAG_SPLADE__NAME" in caught.value.remedy

    def test_damaged_weights(self, folder: Path, tmp_path: Path, lake: Lake) -> None:
        copy = Path(shutil.copytree(folder, tmp_path / "copy"))
        path = copy / "model.safetensors"
        path.write_bytes(path.read_bytes()[:5000])
        with pytest.raises(ModelError, match="cannot be loaded"):
            _encoder(copy, lake).documents(TEXTS)

    def test_weights_that_are_no_numbers_are_not_kept(self, folder: Path, tmp_path: Path, lake: Lake) -> None:
        from safetensors.torch import load_file, save_file

        copy = Path(shutil.copytree(folder, tmp_path / "copy"))
        weights = load_file(copy / "model.safetensors")
        weights["cls.predictions.bias"][:] = float("inf")
        save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(ModelError, match="weights that are not numbers"):
            _encoder(copy, lake).documents(TEXTS)
        assert not lake.fs.exists(lake.root)

    def test_the_default_is_not_on_this_machine(self, folder: Path) -> None:
        def problem(settings: SpladeSettings) -> str | None:
            known: Any = SimpleNamespace(
                settings=SimpleNamespace(splade=settings), once=lambda name, load: load()
            )
            return Splade().problem(Inputs(known))

        assert "is not on this machine" in (problem(SpladeSettings()) or "")
        assert problem(SpladeSettings(name=str(folder))) is None


class Words:
    """An encoder of four words, by hand."""

    vocabulary = ["net", "sales", "tax", "debt"]  # noqa: RUF012

    def documents(self, texts: Sequence[str]) -> csr_matrix:
        return csr_matrix(
            [[text.split().count(word) for word in self.vocabulary] for text in texts], dtype=np.float32
        )

    def question(self, text: str) -> csr_matrix:
        return self.documents([text])


class TestIndex:
    def test_scores_are_dot_products(self) -> None:
        index = SpladeIndex(["net sales sales", "tax", "", "net debt tax tax"], Words())
        scores = index.scores("net tax")
        assert (scores.tolist(), scores.dtype) == ([1, 1, 0, 3], np.float32)
        assert index.scores("sales sales").tolist() == [4, 0, 0, 0]
        assert index.scores("unknown").tolist() == [0, 0, 0, 0]

    def test_no_documents(self) -> None:
        assert SpladeIndex([], Words()).scores("net").shape == (0,)
