"""`python -m rmtrain job=NAME key=value`: compose the settings, run the job's page, keep and show its report.

Exit status: 0 done, 1 a bug of ours (with a traceback), 2 something the user can mend, 130 interrupted.
"""

import errno
import os
import sys
from pathlib import Path

from rmtrain.config.help import help_text
from rmtrain.config.jobs import JobSettings
from rmtrain.errors import RmtrainError

MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENAMETOOLONG)
"""What no code of ours can mend: a full disk, rights, limits."""


def run(settings: JobSettings, folder: Path) -> None:
    """Run one job; its report goes to ``folder/report.json`` and, as text, to standard output."""
    from rmtrain.jobs.page import run_page

    print(run_page(settings, folder).text())


def main() -> int:
    """The command; returns the exit status."""
    try:
        if not {"--help", "-h"}.isdisjoint(sys.argv[1:]):  # Hydra's own help takes half a second to say less
            print(help_text(sys.argv[1:]))
        else:
            from rmtrain.config.compose import main as compose_and_run

            compose_and_run(run)
        sys.stdout.flush()
    except RmtrainError as error:
        print(f"rmtrain: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read what is printed has gone; the report is kept
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.errno not in MACHINE:
            raise
        place = f" at {error.filename}" if error.filename else ""
        print(f"rmtrain: the machine refuses{place} ({error.strerror}). Mend that and run again.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("rmtrain: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
