"""Every way Dolphy can refuse, by name.

One root: `DolphyError`. A subclass carries a stable `code` (what programs read) and an HTTP
`status`; its docstring is the message a person reads. Each app declares its own subclasses next to
the code that raises them, or in its `errors.py`; callers catch the root only at the door.
"""

from __future__ import annotations

import inspect


class DolphyError(Exception):
    """Something in Dolphy went wrong."""

    code: str = "error"
    status: int = 500

    def __init__(self, detail: str = "", **context: object) -> None:
        self.detail = detail
        self.context = context
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The class docstring, followed by what is known of this one case."""
        text = " ".join((inspect.getdoc(type(self)) or "").split())
        return f"{text} {self.detail}".strip() if self.detail else text

    def as_dict(self) -> dict[str, object]:
        """`{"code", "message", **context}`: the body of an error answer."""
        return {"code": self.code, "message": self.message, **self.context}


class InvalidInput(DolphyError):
    """The request cannot be understood."""

    code = "invalid_input"
    status = 400


class NotFound(DolphyError):
    """There is no such thing here."""

    code = "not_found"
    status = 404


class Unavailable(DolphyError):
    """A part that this needs is not answering; try again later."""

    code = "unavailable"
    status = 503
