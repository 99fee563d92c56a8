"""The environment of the peers: their dependencies must not mix with dpverify's own."""

import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FOLDER = ROOT / ".venv-peers"
REQUIREMENTS = HERE / "peers" / "requirements.txt"
INTERPRETER = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
READY = FOLDER / ".ready"  # holds the requirements that were installed


def python() -> Path | None:
    """The peers' interpreter, if they are installed as the requirements say."""
    installed = READY.exists() and READY.read_text() == REQUIREMENTS.read_text()
    return INTERPRETER if installed and INTERPRETER.exists() else None


def make() -> None:
    """Install the peers, once; where that fails, say so and go on without them."""
    if python():
        return
    wanted = REQUIREMENTS.read_text()
    say(f"installing the peers into {FOLDER.name}: {', '.join(wanted.split())} …")
    try:
        if not INTERPRETER.exists():
            _run(sys.executable, "-m", "venv", str(FOLDER))
        pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        _run(str(INTERPRETER), *pip, "--requirement", str(REQUIREMENTS))
    except (OSError, subprocess.SubprocessError) as error:
        say(f"the peers could not be installed, so their figures are missing: {error}")
        return
    READY.write_text(wanted)


def description() -> str:
    """What the figures were measured with."""
    peers = ", ".join(REQUIREMENTS.read_text().split()).replace("==", " ")
    return f"Python {platform.python_version()}, {os.cpu_count()} cores; {peers}"


def say(text: str) -> None:
    """Progress goes to stderr; the tables have stdout for themselves."""
    print(text, file=sys.stderr, flush=True)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise subprocess.SubprocessError(f"{' '.join(command[1:4])}: {last}")
