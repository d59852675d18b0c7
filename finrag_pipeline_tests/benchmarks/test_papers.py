"""What the rehearsal of the papers runs on: folders like the published ones, and the stand-in for an endpoint."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from benchmarks import papers
from benchmarks.published_models import write_bge_m3, write_reranker, write_splade
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.evaluation.judges import judge_messages, read_reply
from finrag_pipeline.language_models.endpoint import EndpointModel
from finrag_pipeline.language_models.protocol import Request
from finrag_pipeline.reranking.cross_encoder import CrossEncoderReranker
from finrag_pipeline.retrieval.second_stages import select_documents
from finrag_pipeline.retrieval.splade import SpladeEncoder
from finrag_pipeline.settings import EncoderSettings, LanguageModelSettings, RerankerSettings, SpladeSettings
from finrag_pipeline.storage.lake import Lake

TEXTS = [f"net revenue was ${n} million in {1990 + n % 30}" for n in range(300)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_bge_m3_as_it_was_published(tmp_path: Path, lake: Lake) -> None:
    folder = write_bge_m3(tmp_path / "bge-m3", TEXTS)
    assert not list(folder.glob("*.safetensors")) and (folder / "pytorch_model.bin").is_file()
    settings = EncoderSettings(name=str(folder), backend="torch", precision="fp32")
    encoder = Encoder(settings, lake)
    assert encoder.window_tokens == 8190
    assert np.linalg.norm(encoder.embed(["net revenue", "goodwill"]), axis=1) == pytest.approx([1, 1])


def test_splade_and_the_reranker_as_they_were_published(tmp_path: Path, lake: Lake) -> None:
    sparse = SpladeSettings(name=str(write_splade(tmp_path / "splade", TEXTS)))
    assert SpladeEncoder(sparse, lake).documents(["net revenue"]).nnz > 0
    pairs = RerankerSettings(name=str(write_reranker(tmp_path / "reranker", TEXTS)))
    assert CrossEncoderReranker(pairs, lake).score("revenue?", ["net revenue", "goodwill"]).shape == (2,)


@pytest.fixture
def stand_in() -> Iterator[EndpointModel]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), papers._Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    yield EndpointModel(LanguageModelSettings(kind="endpoint", base_url=url))
    server.shutdown()
    server.server_close()


def test_the_stand_in_gives_what_each_prompt_asks_for(stand_in: EndpointModel) -> None:
    def said(messages: list) -> str:
        return stand_in.complete(Request(messages, 0.0, 9, 1)).text

    sentences = {"paragraph": "One. Two.", "sentences": "1. One.\n2. Two."}
    assert len(read_reply(said(judge_messages("veracity", "en", sentences, ["s"], 2)), "veracity", 2)) == 2
    whole = {"question": "1. What?", "answer": "That."}
    assert len(read_reply(said(judge_messages("relevance", "en", whole)), "relevance", 1)) == 1
    assert select_documents(stand_in, "What?", ["a", "b", "c"])
