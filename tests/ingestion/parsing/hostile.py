"""The process that reads files, whose reader of text does what the text says.

`hang PATH` keeps the process in C with every signal blocked, after it wrote its id into PATH;
`start PATH` waits for another that it started, whose id it wrote; `backtrack` keeps it in an
expression that never ends; `burst` takes memory without end; `die` ends the process; `die once
PATH` does so unless PATH exists; `fail` is a fault of the program; `pages` tells of pages and
`print` prints. Anything else is read as it is.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from ingestion.parsing import media_type, parse
from ingestion.parsing.blocks import Reading
from ingestion.parsing.limits import Limits
from ingestion.parsing.process import main
from ingestion.parsing.progress import Progress
from ingestion.parsing.text import read_text

READ = sys.modules[parse.__module__]


def read_hostile(data: bytes, limits: Limits, progress: Progress) -> Reading:
    act, _, rest = data.decode().strip().rpartition(" ")
    match act or rest:
        case "hang":
            Path(rest).write_text(str(os.getpid()))
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            time.sleep(3600)
        case "start":
            other = subprocess.Popen(["sleep", "3600"])
            Path(rest).write_text(str(other.pid))
            other.wait()
        case "backtrack":
            re.match("(a+)+$", "a" * 64 + "b")
        case "burst":
            taken = [b"x" * 10_000_000 for _ in range(1_000)]
            return Reading((), title=str(len(taken)))
        case "die":
            os.abort()
        case "die once" if not Path(rest).exists():
            Path(rest).touch()
            os.abort()
        case "fail":
            raise ZeroDivisionError
        case "pages":
            for page in range(4):
                progress(page, 3)
        case "print":
            os.write(1, b"a library says something")
    return read_text(b"Text. " + data, limits)


if __name__ == "__main__":
    READ.PAGED[media_type.TEXT] = read_hostile  # type: ignore[attr-defined]
    main()
