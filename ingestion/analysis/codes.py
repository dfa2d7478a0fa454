"""Numbers, codes and addresses: kept whole, and spelled the few ways in which people type them.

Each function returns folded lexemes. Two spellings of one thing share at least one lexeme, two
different things share none: there are no stems or prefixes here, `TR-1234` is not `TR-1235`.
"""

from __future__ import annotations

import re

from ingestion.analysis.fold import fold

_DATE = re.compile(r"(\d{1,2})[./](\d{1,2})[./](\d{4})$")
_TIME = re.compile(r"([01]?\d|2[0-3])([.:])([0-5]\d)$")
_GROUPED = re.compile(
    r"[1-9]\d{0,2}(?P<mark>[.,])\d{3}(?:(?P=mark)\d{3})*(?:(?!(?P=mark))[.,](?P<rest>\d+))?$"
)
_DECIMAL = re.compile(r"(\d+)[.,](\d+)$")
_RUNS = re.compile(r"\d+|[^\W\d_]+")
_TRAILING = ".,;:!?…-/&=#"


def number(text: str) -> tuple[str, ...]:
    """One number in one spelling: `35.000,50`, `35,000.50` and `35000,5` are all `35000.5`.

    `14.30` may be the time `14:30` as well; dates lose their leading zeros; anything longer
    (versions, section numbers) keeps its groups.
    """
    if date := _DATE.match(text):
        return (".".join(part.lstrip("0") or "0" for part in date.groups()),)
    if time := _TIME.match(text):
        clock = f"{time[1].lstrip('0') or '0'}:{time[3]}"
        return (clock,) if time[2] == ":" else (_decimal(time[1], time[3]), clock)
    if grouped := _GROUPED.match(text):
        rest = grouped["rest"] or ""
        whole = text[: len(text) - len(rest) - 1] if rest else text
        return (_decimal(re.sub(r"\D", "", whole), rest),)
    if decimal := _DECIMAL.match(text):
        return (_decimal(decimal[1], decimal[2]),)
    return (re.sub(r"[,:/]", ".", text),)


def number_parts(text: str) -> tuple[str, ...]:
    """What a date or a long number is also found by: `12/01/2015` by its year."""
    if _GROUPED.match(text) or _DECIMAL.match(text):
        return ()
    return tuple(re.findall(r"\d{3,}", text))


def _decimal(whole: str, rest: str) -> str:
    whole, rest = whole.lstrip("0") or "0", rest.rstrip("0")
    return f"{whole}.{rest}" if rest else whole


def digits(text: str) -> tuple[str, ...]:
    """A run of digits as it is, and without leading zeros."""
    bare = text.lstrip("0") or "0"
    return (text,) if bare == text else (text, bare)


def phone(text: str) -> tuple[str, ...]:
    """The subscriber's digits, without spaces, `+90` or the leading `0`.

    Numbers that begin with 444 are dialled without an area code as well.
    """
    run = re.sub(r"\D", "", text)
    for lead in ("0090", "90", "0"):
        if run.startswith(lead) and len(run) == len(lead) + 10:
            run = run[len(lead) :]
    return (run, run[3:]) if len(run) == 10 and run[3:].startswith("444") else (run,)


def iban(text: str) -> tuple[str, ...]:
    """The IBAN without its spaces."""
    return (fold(text).replace(" ", ""),)


def email(text: str) -> tuple[str, ...]:
    """The whole address."""
    return (fold(text).rstrip("."),)


def url(text: str) -> tuple[str, ...]:
    """The address without scheme, `www.` and trailing punctuation."""
    bare = re.sub(r"^(?:https?://)?(?:www\.)?", "", fold(text)).rstrip(_TRAILING)
    return (bare,)


def address_parts(whole: str) -> tuple[str, ...]:
    """Host and words of a folded address, so that a part of it finds it."""
    host = re.split(r"[/?#]", whole.rpartition("@")[2] if "@" in whole else whole, maxsplit=1)[0]
    words = (word for word in _RUNS.findall(whole) if len(word) > 2)
    return (host, *words)


def runs(text: str) -> list[str]:
    """Letters and digits apart: `tr1234` → `["tr", "1234"]`."""
    return _RUNS.findall(text)


def acronym(text: str) -> tuple[str, ...]:
    """`T.C.` → `tc`."""
    return (fold(text).replace(".", ""),)
