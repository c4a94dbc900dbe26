"""A supervisor that stays: it takes one attempt after another and keeps nurseries. `python -m assay.runs.stay STORE`.

It reads the folder of an attempt from each line of its standard input, as a JSON string, supervises it as
`assay.runs.supervise` does, and answers with a line of JSON: an exit code (`assay.runs.exit_codes`) and a message. It
ends when its input does, by a signal, or with its parent. The store on its command line is for people who look at
processes.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from assay.jobs.folder import AttemptFolder
from assay.runs.exit_codes import INTERRUPTED
from assay.runs.sandbox.nurseries import Nurseries
from assay.runs.supervise import Interrupted, prepare_process, supervise_held

__all__ = ["main"]


def main() -> int:
    """Supervise until nothing more is asked for."""
    nurseries = Nurseries()
    try:
        if not prepare_process():
            return INTERRUPTED
        for line in sys.stdin:
            code, message = supervise_held(AttemptFolder(Path(json.loads(line))), nurseries)
            _answer(code, message)
            if code == INTERRUPTED:
                return code
    except (Interrupted, KeyboardInterrupt):
        return INTERRUPTED
    finally:
        nurseries.close()
    return 0


def _answer(code: int, message: str) -> None:
    text = json.dumps({"exit_code": code, "message": message}) + "\n"
    os.write(sys.stdout.fileno(), text.encode())


if __name__ == "__main__":
    sys.exit(main())
