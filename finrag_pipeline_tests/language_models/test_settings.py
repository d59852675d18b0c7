from __future__ import annotations

from collections.abc import Iterator

import pytest

from finrag_pipeline.errors import UsageError
from finrag_pipeline.settings import LanguageModelSettings, get_settings
from finrag_pipeline.storage.fingerprints import fingerprint

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINRAG_LANGUAGE_MODEL__KIND", "endpoint")
    monkeypatch.setenv("FINRAG_LANGUAGE_MODEL__KEY", KEY)
    monkeypatch.setenv("FINRAG_HYDE__TEMPERATURE", "0.5")
    settings = get_settings()
    assert settings.language_model.kind == "endpoint"
    assert settings.language_model.key is not None
    assert settings.language_model.key.get_secret_value() == KEY
    assert settings.hyde.temperature == 0.5
    assert KEY not in repr(settings) + str(settings.model_dump()) + settings.model_dump_json()


def test_no_language_model_is_needed() -> None:
    settings = get_settings()
    assert settings.language_model.kind == "none" and settings.language_model.key is None


def test_a_wrong_value_does_not_show_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINRAG_LANGUAGE_MODEL__KEY", KEY)
    monkeypatch.setenv("FINRAG_LANGUAGE_MODEL__TIMEOUT", "0")
    with pytest.raises(UsageError, match="FINRAG_LANGUAGE_MODEL__TIMEOUT") as caught:
        get_settings()
    assert KEY not in str(caught.value)


def test_the_key_is_no_part_of_a_fingerprint() -> None:
    one, other = (LanguageModelSettings(key=key) for key in (KEY, "another"))
    assert fingerprint(one) == fingerprint(other)
