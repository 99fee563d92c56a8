"""Exceptions as exit codes, and characters that a terminal lacks as others that it has.

Exit code 1 means that a claim is refuted and nothing else: only a verb that returns it, or raises
`typer.Exit(1)`, ends with it. Whatever is not foreseen is a defect of dpverify: code 3, one
sentence, and the traceback in a file. Standard library only, so that a broken dependency is told,
too.
"""

import codecs
import contextlib
import errno
import os
import re
import shlex
import sys
import traceback
import unicodedata
from collections.abc import Callable
from io import TextIOWrapper

from dpverify.cli.objections import objection
from dpverify.cli.packages import OWN

MISUSE, DEFECT, INTERRUPTED = 2, 3, 130

# What a module that is missing belongs to: an extra, or a package of another name.
EXTRAS = {
    "dask": "dask",
    "diffprivlib": "diffprivlib",
    "distributed": "dask",
    "hypothesis": "testing",
    "opacus": "torch",
    "opendp": "opendp",
    "pyarrow": "parquet",
    "pytest": "testing",
    "z3": "certify",
}
_PACKAGES = {"flint": "python-flint", "sklearn": "scikit-learn"}
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
_LONG = re.compile(r"'[^']{200,}'")  # values that one sees as well by their ends
_CLOSED = "stdout must stay open: it was closed before all was written"


class Interrupted(Exception):
    """An interrupt that says during what, and what is missing for it."""


def guarded(work: Callable[[], object]) -> int:
    """Run `work` and return the exit code; what it raises becomes one line on standard error."""
    if sys.stdout is None:  # `>&-`
        return _tell(MISUSE, _CLOSED)
    try:
        code = work()
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  # the last to see it
        return _tell(*_judged(error))
    if code == INTERRUPTED:
        return _tell(INTERRUPTED, "interrupted")
    return code if isinstance(code, int) else 0


def _judged(error: BaseException) -> tuple[int, str]:
    """The exit code of an exception, and the sentence that goes with it."""
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return INTERRUPTED, "interrupted"
    if isinstance(error, Interrupted):
        return INTERRUPTED, f"interrupted {error}"
    sentence = _misuse(error)
    return (DEFECT, _defect(error)) if sentence is None else (MISUSE, sentence)


def _misuse(error: BaseException) -> str | None:
    """What was wrong with the command, its files or its surroundings; None if nothing was."""
    if _is_on_purpose(error):
        return str(error)
    match error:
        case OSError():
            return _unusable(error)
        case SystemExit() if _is_broken_pipe(error):
            return _unusable(BrokenPipeError())
        case SystemExit():
            where = _innermost(error)
            return f"target must not end the program: {where} asked to exit with {error.code!r}"
        case ModuleNotFoundError(name=str(name)) if name.split(".")[0] not in ("dpverify", *OWN):
            return _missing(name.split(".")[0])
        case ImportError() if (broken := _broken(error)) is not None:
            reason = f"{type(error).__name__}: {error}"
            return f"module={broken!r} must be importable for this, and it is broken: {reason}"
        case Exception(__cause__=ImportError() as cause):  # told on by whoever tried the import
            return _misuse(cause)
        case _:
            return objection(error)


def _innermost(error: BaseException) -> str:
    """The file from which an exception was raised, as code in a folder may hide a library's."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return repr(frames[-1].f_code.co_filename) if frames else "it"


def _is_on_purpose(error: BaseException) -> bool:
    """Whether it is one of ours; who raised one has imported their module, which takes a while."""
    family = sys.modules.get("dpverify.errors")
    return family is not None and isinstance(error, family.DPVerifyError)


def _is_broken_pipe(error: SystemExit) -> bool:
    """How the parser of commands, and whoever prints in color, end on a broken pipe."""
    wrapped = type(sys.stdout).__name__ == "PacifyFlushWrapper"
    return wrapped or isinstance(error.__context__, BrokenPipeError)


def _unusable(error: OSError) -> str | None:
    """Which file could not be used, and why; output that cannot be written is dropped."""
    if isinstance(error, BrokenPipeError):
        _drop_output()
        return _CLOSED
    if isinstance(error.filename, str | bytes):
        return f"file={os.fsdecode(error.filename)!r} must be usable: {error.strerror}"
    if error.errno in _FULL:
        _drop_output()
        return f"output must be writable: {error.strerror}"
    return None


def _drop_output() -> None:
    """Drop what standard output still holds: writing it would fail again when Python ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # no file behind it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def _tell(code: int, sentence: str) -> int:
    if sys.stderr is not None:
        told = _LONG.sub(lambda found: f"{found[0][:60]}…{found[0][-30:]}", sentence)
        with contextlib.suppress(OSError):  # nowhere is left to say that; the code is what counts
            sys.stderr.write(f"dpverify: {' '.join(told.split())}\n")
            sys.stderr.flush()
    return code


def _missing(module: str) -> str:
    extra = EXTRAS.get(module)
    package = f"'dpverify[{extra}]'" if extra else _PACKAGES.get(module, module)
    return f"module={module!r} must be installed for this: pip install {package}"


def _broken(error: ImportError) -> str | None:
    """The package that failed while one of our modules imported it; None if it is our own."""
    names = [
        str(frame.f_globals.get("__name__")).split(".")[0]
        for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    own = [place for place, name in enumerate(names) if name in ("dpverify", *OWN)]
    behind = [name for name in names[own[-1] + 1 :] if name != "importlib"] if own else []
    return behind[0] if behind else None


def _defect(error: BaseException) -> str:
    what = traceback.format_exception_only(error)[-1].strip()
    return (
        f"a defect of dpverify, which says nothing about the claim ({what}); "
        f"please report it with the traceback, which is {_kept(error)}"
    )


def _kept(error: BaseException) -> str:
    """Where the traceback was written: a file, or if that fails, too, the lines above."""
    # Needed here alone, and the time until a first interrupt can be told is to be short.
    import platform  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    lines = [
        f"command: {shlex.join(sys.argv)}\n",
        f"python: {platform.python_version()} on {platform.platform()}\n\n",
        *traceback.format_exception(error),
    ]
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            encoding="utf-8",
            errors="backslashreplace",
            prefix="dpverify-",
            suffix=".txt",
            delete=False,
        ) as file:
            file.writelines(lines)
    except OSError:
        sys.stderr.writelines(lines)
        return "above"
    return f"in {file.name}"


# Output in any encoding


_TABLE = """
    ≤ <= ≥ >= ≠ != ≈ ~ ∝ ~ ∞ inf √ sqrt − - × x · * ± +- → -> ← <- ⇒ => ↦ |-> ‖ || ′ ' ⟨ < ⟩ >
    ∇ grad ∈ in ∂ d ∫ int ∎ QED ℓ l — - – - ‘ ' ’ ' “ " ” " ₍ ( ₎ ) ₊ + ₋ - ½ 1/2 ¼ 1/4
    ⌈ ceil( ⌉ ) ⌊ floor( ⌋ ) ⊆ subset ∪ or ∩ and ∅ {} § section ∑ sum ∏ prod ✓ ok
    ● # ◉ + ○ . ┃ | │ | ━ - ─ -
"""
_SPELLED = _TABLE.split()
_PLAIN = dict(zip(_SPELLED[::2], _SPELLED[1::2], strict=True))


def plain(text: str) -> str:
    """Characters in ASCII, for terminals and files that have no others.

    >>> plain("ε ≤ 10⁻¹², ‖x‖² → ∞")
    'epsilon <= 10^-12, ||x||^2 -> inf'
    """
    pieces = []
    was_raised = False
    for character in text:
        is_raised = unicodedata.decomposition(character).startswith("<super>")
        lowered = unicodedata.normalize("NFKD", character) if is_raised else character
        pieces.append("^" * (is_raised and not was_raised) + "".join(map(_ascii, lowered)))
        was_raised = is_raised
    return "".join(pieces)


def lacks(encoding: str | None, text: str) -> bool:
    """Whether a text has characters that the encoding has not."""
    try:
        text.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def _ascii(character: str) -> str:
    if character.isascii():
        return character
    if character in _PLAIN:
        return _PLAIN[character]
    decomposed = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    name = unicodedata.name(character, "")
    if decomposed or not name.startswith("GREEK"):
        return decomposed or "?"
    letter = name.split(" WITH ")[0].split()[-1].lower()
    return letter.capitalize() if "CAPITAL" in name else letter


def _spelled_out(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return plain(error.object[error.start : error.end]), error.end


def prepare_streams() -> None:
    """Spell out what the encoding of standard output or error does not have."""
    codecs.register_error("dpverify-plain", _spelled_out)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="dpverify-plain")
