"""Embedding: every backend against a bare SentenceTransformer.encode on the same sorted texts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks import arguments, paired, rate
from finrag_pipeline.embedding.backends import load_embedder
from finrag_pipeline.embedding.encoder import Encoder, calibration_texts
from finrag_pipeline.embedding.model_files import model_folder
from finrag_pipeline.settings import EncoderSettings, get_settings
from finrag_pipeline.storage.lake import Lake


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--windows", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    settings = get_settings()
    lake = Lake(settings.lake)
    encoder = Encoder(settings.encoder, lake)
    chunks = lake.read_all("filing_chunks", ["text"])["text"].to_pylist()
    rng = np.random.default_rng(settings.seed)
    windows = [w for i in rng.permutation(len(chunks))[: options.windows] for w in encoder.windows(chunks[i])]
    windows = sorted(windows[: options.windows], key=len, reverse=True)

    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(model_folder(settings.encoder.name)), device="cpu")

    def bare() -> int:
        model.encode(windows, normalize_embeddings=True)
        return len(windows)

    reference = model.encode(windows, normalize_embeddings=True)
    with tempfile.TemporaryDirectory() as cache:
        for backend, precision in (
            ("torch", "fp32"),
            *(("openvino", one) for one in ("fp32", "bf16", "int8")),
        ):
            chosen = EncoderSettings(name=settings.encoder.name, backend=backend, precision=precision)
            embedder = load_embedder(chosen, Path(cache), calibration_texts)

            def ours(embedder=embedder) -> int:
                embedder.embed(windows)
                return len(windows)

            name = f"{backend} {precision} / bare SentenceTransformer.encode"
            paired(name, rate(ours), rate(bare), options.rounds, "windows per second")
            cosine = (embedder.embed(windows) * reference).sum(axis=1)
            print(f"  cosine to the reference: mean {cosine.mean():.6f}, least {cosine.min():.6f}")


if __name__ == "__main__":
    main()
