"""Why a question is refused."""

from __future__ import annotations

from dolphy.errors import InvalidInput


class EmptyQuestion(InvalidInput):
    """The question is empty."""

    code = "question_empty"


class WordlessQuestion(InvalidInput):
    """The question holds no letter and no digit."""

    code = "question_without_words"


class QuestionTooLong(InvalidInput):
    """The question is too long."""

    code = "question_too_long"


class QuestionNotText(InvalidInput):
    """The question holds characters that are not text, such as NUL."""

    code = "question_not_text"


class UnknownFusion(InvalidInput):
    """There is no fusion of that name."""

    code = "unknown_fusion"


class BadLimit(InvalidInput):
    """The limit of evidence must be a whole number from 1 to 50."""

    code = "bad_limit"
