"""The languages that an agent's documents may be in: those that the analyser knows.

They are named here because an agent is saved without the analyser at hand; a test holds the two
lists together. Turkish, the first of them, has rules of its own.
"""

from __future__ import annotations

from django.db import models


class Language(models.TextChoices):
    """By ISO 639 code."""

    TURKISH = "tr"
    ARABIC = "ar"
    CATALAN = "ca"
    CZECH = "cs"
    DANISH = "da"
    GERMAN = "de"
    GREEK = "el"
    ENGLISH = "en"
    ESPERANTO = "eo"
    SPANISH = "es"
    ESTONIAN = "et"
    BASQUE = "eu"
    PERSIAN = "fa"
    FINNISH = "fi"
    FRENCH = "fr"
    IRISH = "ga"
    HINDI = "hi"
    HUNGARIAN = "hu"
    ARMENIAN = "hy"
    INDONESIAN = "id"
    ITALIAN = "it"
    LITHUANIAN = "lt"
    BOKMAL = "nb", "Norwegian Bokmål"
    NEPALI = "ne"
    DUTCH = "nl"
    NORWEGIAN = "no"
    POLISH = "pl"
    PORTUGUESE = "pt"
    ROMANIAN = "ro"
    RUSSIAN = "ru"
    SERBIAN = "sr"
    SWEDISH = "sv"
    TAMIL = "ta"
    YIDDISH = "yi"


UNKNOWN = f"Dolphy has no analyser for %(value)r; the languages are {', '.join(Language.values)}."
