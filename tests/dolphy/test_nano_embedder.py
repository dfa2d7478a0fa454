"""The embedder in the process, on texts that its engine would stumble over."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import numpy as np
import pytest

from dolphy.embedding.nano import NanoEmbedder, safe

# One character that becomes eighteen: more than the engine makes room for.
HOSTILE = "\ufdfa" * 600


def test_a_character_that_grows_eighteenfold_does_not_end_the_process() -> None:
    program = (
        "from dolphy.embedding.nano import NanoEmbedder\n"
        "e, t = NanoEmbedder(), '\\ufdfa' * 600\n"
        "e.count_tokens(t), e.embed_question(t[:12]), e.embed_passages([t, 'a', t])\n"
        "print('alive')\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "alive\n")


def test_no_character_outgrows_the_room_of_the_engine() -> None:
    for code in range(sys.maxunicode + 1):
        if not 0xD800 <= code <= 0xDFFF:
            text = safe(chr(code))
            assert len(unicodedata.normalize("NFKC", text)) <= 4 * len(text.encode())


@pytest.mark.parametrize("text", ["İade süresi kaç gün?", "ﬁyat ①  Ｗｉｆｉ", "½ kg ™"])
def test_what_is_made_safe_means_the_same_to_the_model(text: str) -> None:
    embedder = NanoEmbedder()
    with_engine = embedder._model.query(text)
    assert np.allclose(embedder.embed_question(text), with_engine, atol=1e-6)


def test_nul_becomes_a_space() -> None:
    assert safe("a\0b") == "a b"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a",
        "İade süresi kaç gün? On dört gün; 1.250,50 TL'ye kadar.",
        "iki  boşluk\nve\n\nsatır",
        "sonunda boşluk ",
        "sekme\tve\u00a0bölünmez boşluk",
        "yumuşak\u00adtire ve \u200b görünmez",
        "birleşen i\u0307 ve yalnız \u0301",
        "日本語 文字 و عربي",
        "x" * 300 + " çekoslovakyalılaştıramadıklarımızdanmışsınızcasına",
        "https://example.com/a?b=c&d=%20 (TR-1234) [şu] {bu} <o> \\ | ~",
    ],
)
def test_tokens_counted_by_words_are_those_that_the_engine_counts(text: str) -> None:
    embedder = NanoEmbedder()
    assert embedder.count_tokens(text) == embedder._model.token_count(safe(text))
