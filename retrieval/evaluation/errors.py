"""Why an evaluation is refused."""

from __future__ import annotations

from dolphy.errors import InvalidInput


class BadDataset(InvalidInput):
    """The dataset cannot be used; nothing was loaded."""

    code = "bad_dataset"


class BadSetting(InvalidInput):
    """That setting cannot be used."""

    code = "bad_setting"


class BadFigures(InvalidInput):
    """The file does not hold the figures of an evaluation."""

    code = "bad_figures"
