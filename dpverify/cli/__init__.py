"""The command line; `verbs` has one file a verb.

Exit code: 0 the claim stands or the work is done, 1 the claim is refuted (of `ledger spend`: the
budget does not allow the request, and nothing was charged), 2 misuse, 3 a defect of
dpverify, 130 interrupted. All but 0 and 1 get one line on standard error; `exits` decides which.
"""

import gc
import os
import sys

from dpverify.cli import exits, packages

_COMPLETION = ("--install-completion", "--show-completion")


_ALIVE = 50_000  # objects more than before at which garbage is looked for; Python's own is 700


def main() -> None:
    """Entry point of the `dpverify` command and of `python -m dpverify`."""
    # What is imported lives to the end: to look through it for garbage is a sixth of the start.
    gc.set_threshold(_ALIVE, *gc.get_threshold()[1:])
    exits.prepare_streams()
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    packages.prefer_own()
    return exits.guarded(lambda: _run(arguments))


def _run(arguments: list[str]) -> object:
    # Imported here: whatever goes wrong while the verbs are loaded is told like all else.
    from dpverify.cli import output  # noqa: PLC0415
    from dpverify.cli.app import application  # noqa: PLC0415

    output.arguments.set(tuple(arguments))
    output.check_given_once(arguments)
    try:
        return application()(arguments, prog_name="dpverify", standalone_mode=False)
    except SystemExit as done:  # how the parser ends when it completes a line for a shell
        if "_DPVERIFY_COMPLETE" in os.environ or arguments[:1] in ([each] for each in _COMPLETION):
            return exits.MISUSE if done.code else 0
        raise
