from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finrag_pipeline.settings import ChunkSettings
from finrag_pipeline.storage.fingerprints import canonical_json, file_sha256, fingerprint, text_hash

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


def test_golden_values() -> None:
    """Fingerprints stand in the footers of parts: a change here makes every lake stale."""
    assert fingerprint("filings", 1, {"b": None, "a": [1.5, True]}) == (
        hashlib.blake2b(b'["filings",1,{"a":[1.5,true],"b":null}]', digest_size=16).hexdigest()
    )
    assert text_hash("Größe") == hashlib.blake2b("Größe".encode(), digest_size=16).hexdigest()


@settings(suppress_health_check=[HealthCheck.too_slow])  # the first draw is slow on a busy machine
@given(st.dictionaries(st.text(max_size=5), _json, max_size=5))
def test_the_order_of_keys_does_not_matter(value: dict) -> None:
    assert fingerprint(value) == fingerprint(dict(reversed(list(value.items()))))


def test_the_order_and_the_grouping_of_parts_matter() -> None:
    assert fingerprint("a", "b") != fingerprint("b", "a")
    assert fingerprint("ab") != fingerprint("a", "b")
    assert fingerprint(["a"], "b") != fingerprint("a", ["b"])


def test_models_paths_and_sets_have_a_canonical_form() -> None:
    assert canonical_json(ChunkSettings(tokens=64, overlap=8)) == '{"overlap":8,"tokens":64}'
    assert canonical_json([Path("a/b"), {"b", "a"}, frozenset((2, 1))]) == '["a/b",["a","b"],[1,2]]'


def test_a_value_without_a_canonical_form_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        fingerprint(object())


@given(st.text(), st.text())
def test_texts_with_equal_hashes_are_equal(one: str, other: str) -> None:
    assert (text_hash(one) == text_hash(other)) == (one == other)


def test_half_a_surrogate_pair_can_be_hashed() -> None:
    assert len(text_hash("\ud800")) == 32


@pytest.mark.parametrize("size", [0, 1, 1 << 20])
def test_file_sha256(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * size)
    assert file_sha256(path) == hashlib.sha256(b"x" * size).hexdigest()
