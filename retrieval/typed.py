"""What to embed for a question that was not typed the way documents are written.

An embedding model reads `SIPARIS` and `siparis` as other words than `sipariş`. Two habits cost it
most: typing in capitals and leaving the diacritics out. Both are undone from the agent's own
vocabulary (folded form → the form its documents use most), and only when the whole question is
typed so; any other question is returned unchanged, byte for byte. The lexical branch needs none of
this, its lexemes are folded.

A word that the documents do not hold is restored from its longest beginning that they do hold;
the suffix behind it follows vowel harmony. An English question asked of a Turkish agent is left
alone. Question words, which answers rarely contain, have a
short list of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ingestion.analysis.fold import fold, lower
from ingestion.analysis.stopwords import stop_words
from ingestion.analysis.vocabulary import BEGINNINGS, beginning, surface_forms
from retrieval.words import Word, all_capitals, capitalised, is_bare, respelled, upper, words_of

Lookup = Callable[[Sequence[str]], Mapping[str, str]]

_SHORTEST_WORD = 4
_PROOF = 6
_LONGEST = 40
_WITHOUT_DIACRITICS = frozenset({"en", "eu", "id", "nl"})
_ALSO_TURKISH = frozenset({"are", "but", "can", "had", "has", "his", "not", "once"})
_ENGLISH_ONLY = frozenset(word for word in stop_words("en") if len(word) > 2) - stop_words(
    "tr"
) - _ALSO_TURKISH | {"my"}
_BACK, _FRONT = "aıou", "eiöü"
_VOWELS = frozenset(_BACK + _FRONT)
_MIS = re.compile("m[ıiuü]$")
_PARTICLE = re.compile(r"m[iu](?:yim|yiz|sin|siniz|dir|dur|yum|yuz|sun|sunuz|ydi|ydu)?$")
_QUESTION_WORDS = """
bana ben benim bir bu bunlar bunu bunun da de en hangi hangileri hem ile ise kim kime kimin
mi misin miyim ne neden nedir nelerdir neler nerede nereden nereye niye olan olarak ve veya ya
açabilir açar açık açılabilir açılır açmak açtım açtırabilir adı adım ağır alabilir alabilirim alır
almalıyım altı aşağı aşağıda atabilir ayrı az başka başlar başlıca başvurabilir başvuru bazı bırak
birçok böyle bugün bulabilir bulunmaktadır büyük çağrı çalışır çalışıyor çalışmıyor çekebilir
çekebilirim çeşit çeşitleri çıkar çıkarabilir çıkıyor çıktı çoğu çok çözüm çünkü dağıtım değil
değildir değilse değişir değiştirebilir diğer dışında doğdu doğmuştur dolayı dönem dört düşük
düzenlenir eğer ettiğim fark farkı fazlası gecikir geçer geçerli gelmiştir gerçek gerçekleşir
gereken gerekir gerekiyor gerekli girebilir gitmiştir giriş göre görebilir görebilirim görev
görünüyor götürebilir gün güncel günü güven hangi hangisi hatırlamıyorum hâlâ hiç için içinde
içindeki iletişim ilişkin işlem işlemi işlemler kaç kaçıncı kaçtır kaldırabilir kapanır kapatabilir
karşı karşılanır katılabilir kayıt kazanır kılavuz kim kimdir kişi koşul koşulları kullanabilir
kullanılır küçük lazım lütfen mağaza mıdır müşteri nasıl nasıldır niçin numarası olduğu olduğunu
olması olmalı olmuştur ödeme ödenir ödeyebilir öğrenebilir öğrenebilirim öğrenmek ölçü ölmüştür
önce önemli örnek özel özelliği özellik özellikleri sağlar sahip satın sıfır sınır sıra sırasında
sipariş süre süresi süreç şart şartlar şartları şekilde şey şifre şikayet şimdi şirket şu şube
taksit taşınır tarafından tarih toplam tüm türü uğradı ulaşabilir unuttum uygulanır ücret ücreti
ücretsiz ürün ürünü üye üyelik üzere üzerinde üzerinden vardır vazgeçebilir verilir yaptırabilir
yapabilir yapabilirim yapılabilir yapılır yapılmalı yapılmalıdır yapılmıştır yapmalıyım yapmış
yardım yarın yaşında yatırabilir yazılır yıl yılda yılı yılın yılında yıllar yıllarda yok yükleme
yüklenir yüksek yüzde
"""
_KNOWN = {"tr": dict(surface_forms(_QUESTION_WORDS, "tr"))}


def restore(question: str, lookup: Lookup, language: str = "tr") -> str:
    """The question as its documents would write it, or the very same string.

    `lookup` is called at most once, with folded forms, and returns the surface form of those that
    it knows.
    """
    capitals, bare = all_capitals(question), is_bare(question)
    if not capitals and (not bare or language in _WITHOUT_DIACRITICS):
        return question
    words = list(words_of(question))
    if not words:
        return question
    if language != "en" and any(fold(word.text) in _ENGLISH_ONLY for word in words):
        lowered = [lower(word.text, "en") for word in words]
        return respelled(question, words, lowered) if capitals else question
    wanted = _wanted(fold(word.text) for word in words if not word.glued)
    known = {**question_words(language), **lookup(wanted)}
    spelled = _spelled(words, known, language)
    if capitals and not bare:
        spelled = _trusting_typed(words, spelled, known, language)
    elif not capitals:
        if not any(_misspelled(word, known, language) for word in words):
            return question
        pairs = zip(words, spelled, strict=True)
        spelled = [_cased_like(word.text, spelling, language) for word, spelling in pairs]
    if capitals and not any(map(str.isalnum, question[: words[0].start])):
        spelled[0] = capitalised(spelled[0], language)
    return respelled(question, words, spelled)


def _misspelled(word: Word, known: Mapping[str, str], language: str) -> bool:
    """The documents spell this word otherwise, or so much of it that it cannot be another word."""
    folded = fold(word.text)
    found = _beginning(folded, known)
    sure = len(folded) >= _SHORTEST_WORD or folded in question_words(language)  # `on`, `ön`
    proof = (len(found) == len(folded) and sure) or len(found) >= _PROOF
    return proof and not word.glued and not word.text.isupper() and not folded.startswith(found)


def _trusting_typed(
    words: Sequence[Word], spelled: Sequence[str], known: Mapping[str, str], language: str
) -> list[str]:
    """Capitals with diacritics: what was typed is right, but for an I that may be an i.

    `İ` somewhere says that I is ı, unless a word that the documents hold (`KREDISI`) contradicts.
    """
    lowered = [lower(word.text, language) for word in words]
    pairs = list(zip(lowered, spelled, strict=True))
    english = any(_dotted(low, known.get(fold(low), "")) for low in lowered if len(low) > 2)
    if language == "tr" and not english and any("İ" in word.text for word in words):
        return lowered
    return [_dotted(low, new) or low for low, new in pairs]


def _dotted(lowered: str, spelled: str) -> str:
    """`lowered` with its ı dotted where `spelled` has i; empty when that changes nothing."""
    if len(lowered) != len(spelled):
        return ""
    pairs = zip(lowered, spelled, strict=True)
    dotted = "".join("i" if (low, new) == ("ı", "i") else low for low, new in pairs)
    return dotted if dotted != lowered else ""


def question_words(language: str) -> Mapping[str, str]:
    """Words that questions hold and answers seldom: folded form to surface form."""
    return _KNOWN.get(language, {})


def _wanted(words: Iterable[str]) -> list[str]:
    """What to look up: every word, and its beginnings down to three letters."""
    keys = set(words)
    for word in tuple(keys):
        keys.update(key for length in _lengths(word) for key in _keys(word, length))
    return sorted(keys)


def _lengths(word: str) -> range:
    return range(min(len(word) - 1, _LONGEST), min(BEGINNINGS) - 1, -1)


def _keys(word: str, length: int) -> Iterator[str]:
    """A beginning as a word of its own, if that is long enough to trust, then as a beginning."""
    if length >= _SHORTEST_WORD:
        yield word[:length]
    if length in BEGINNINGS:
        yield beginning(word, length)


def _spelled(words: Sequence[Word], known: Mapping[str, str], language: str) -> list[str]:
    spelled: list[str] = []
    for word in words:
        folded = fold(word.text)
        before = spelled[-1] if spelled else ""
        if language == "tr" and (word.glued or _PARTICLE.match(folded)):
            spelled.append(_with_suffix(before, folded)[len(before) :])
        else:
            spelled.append(_known(folded, known, language))
    return spelled


def _known(word: str, known: Mapping[str, str], language: str) -> str:
    if word in known or language != "tr":
        return known.get(word, word)
    found = _beginning(word, known)
    return _with_suffix(found, word[len(found) :]) if found else word


def _beginning(word: str, known: Mapping[str, str]) -> str:
    """As much of a folded word as is known, in its surface form: all of it, some, or nothing."""
    if word in known:
        return known[word]
    keys = (key for length in _lengths(word) for key in _keys(word, length))
    return next((known[key] for key in keys if key in known), "")


def _with_suffix(beginning: str, suffix: str) -> str:
    """`suffix` in full spelling: i/ı and u/ü by vowel harmony, ğ between vowels, -mIş with ş."""
    spelled = beginning
    vowel = next((letter for letter in reversed(spelled) if letter in _BACK + _FRONT), "e")
    for at, letter in enumerate(suffix):
        following = suffix[at + 1 : at + 2]
        if letter == "i" and _keeps_i(suffix, at):
            pass
        elif letter == "i" and vowel in _BACK:
            letter = "ı"
        elif letter == "u" and vowel in _FRONT:
            letter = "ü"
        elif letter == "g" and following in _VOWELS and spelled[-1:] in _VOWELS:
            letter = "ğ"
        elif letter == "s" and _MIS.search(spelled) and following not in _VOWELS:
            letter = "ş"
        vowel = letter if letter in _BACK + _FRONT else vowel
        spelled += letter
    return spelled


def _keeps_i(suffix: str, at: int) -> bool:
    """-ki and -Abil- do not follow harmony: `Ankara'daki`, `alabilir`."""
    before = suffix[at - 1] if at else ""
    return before == "k" or (before == "b" and suffix[at + 1 : at + 2] == "l")


def _cased_like(typed: str, spelled: str, language: str) -> str:
    """`spelled` with the capitals of `typed`; an acronym (`IBAN`, `II`) stays as it is."""
    if typed == typed.upper() and len(typed) > 1:
        return typed
    if len(typed) != len(spelled):
        return spelled
    pairs = zip(typed, spelled, strict=True)
    return "".join(
        upper(letter, language) if mould.isupper() else letter for mould, letter in pairs
    )
