"""The environment of the peers that learn: diffprivlib, Opacus and the data of statsmodels.

diffprivlib adds noise for a sum of losses; from scikit-learn 1.4 on the loss that it is added to
is a mean, which drowns the data. So it runs with 1.3.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import environment
import numpy as np

HERE = Path(__file__).resolve().parent
FOLDER = environment.FOLDER / "learning"
REQUIREMENTS = HERE / "peers" / "learning.txt"
INTERPRETER = FOLDER / environment.INTERPRETER.relative_to(environment.FOLDER)
READY = FOLDER / ".ready"


def python() -> Path | None:
    """The peers' interpreter, if they are installed as the requirements say."""
    installed = READY.exists() and READY.read_text() == REQUIREMENTS.read_text()
    return INTERPRETER if installed and INTERPRETER.exists() else None


def make() -> None:
    """Install the peers, once; where that fails, say so and go on without them."""
    if python():
        return
    wanted = REQUIREMENTS.read_text()
    environment.say(f"installing into {FOLDER}: {', '.join(wanted.split())} …")
    pip = (str(INTERPRETER), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    for command in (
        (sys.executable, "-m", "venv", str(FOLDER)),
        (*pip, "--requirement", str(REQUIREMENTS)),
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            environment.say(f"the peers could not be installed: {done.stderr.strip()[-200:]}")
            return
    READY.write_text(wanted)


def accuracies(
    script: str, case: Mapping[str, Any], setting: Mapping[str, Any], limit: float
) -> list[float]:
    """What the peer's script answers to one case; nothing if it is missing, late or fails."""
    found: list[float] = _answer(script, case, setting, limit).get("accuracies", [])
    return found


def table(name: str) -> np.ndarray:
    """The columns of a data set that comes with statsmodels; written out once."""
    path = FOLDER / f"{name}.npy"
    if not path.exists():
        _answer("with_statsmodels.py", {"data": name, "file": str(path)}, {}, 120.0)
    columns: np.ndarray = np.load(path)
    return columns


def _answer(
    script: str, case: Mapping[str, Any], setting: Mapping[str, Any], limit: float
) -> dict[str, Any]:
    interpreter = python()
    if interpreter is None:
        return {}
    request = json.dumps({"case": dict(case), "setting": dict(setting)})
    command = [str(interpreter), str(HERE / "peers" / script)]
    try:
        done = subprocess.run(
            command, input=request, capture_output=True, text=True, timeout=limit, check=True
        )
    except subprocess.TimeoutExpired:
        environment.say(f"{script}: not within {limit:g} s")
        return {}
    except subprocess.CalledProcessError as error:
        environment.say(f"{script}: {error.stderr.strip()[-200:]}")
        return {}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
    if "error" in answer:
        environment.say(f"{script}: {answer['error']}")
    return answer
