"""Tools that answer cases, each in a process of its own, and what was measured of them."""

import json
import math
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import environment
from cases import Case

SCRIPTS = Path(__file__).resolve().parent / "peers"


@dataclass(frozen=True)
class Tool:
    """A library with one setting; `script` answers cases for it."""

    label: str
    script: str
    setting: dict[str, Any] = field(default_factory=dict)

    def python(self) -> str | None:
        """The interpreter that has the library, if there is one."""
        if self.script == DPVERIFY.script:
            return sys.executable
        found = environment.python()
        return str(found) if found else None


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What a tool answered to a case, and what that took. None: not known."""

    case: str
    tool: str
    status: Literal["done", "timeout", "error", "missing"]
    lower: float | None = None
    upper: float | None = None
    seconds: float | None = None  # best wall time, imports excluded; at a timeout, the limit
    runs: list[float] = field(default_factory=list)
    peak_megabytes: float | None = None
    error: str | None = None

    @property
    def width(self) -> float | None:
        if self.lower is None or self.upper is None:
            return None
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def as_json(self) -> dict[str, Any]:
        fields = asdict(self) | {"width": self.width}
        return {name: _finite(value) for name, value in fields.items()}


DPVERIFY = Tool("dpverify", "with_dpverify.py")


def measure(tool: Tool, case: Case, limit: float) -> Measurement:
    """Run one case in a fresh process, for at most `limit` seconds of it."""
    python = tool.python()
    if python is None:
        return Measurement(case=case.name, tool=tool.label, status="missing")
    environment.say(f"  {case.name}: {tool.label} …")
    request = json.dumps({"case": case.as_json(), "setting": tool.setting})
    command = [python, str(SCRIPTS / tool.script)]
    try:
        done = subprocess.run(
            command, input=request, capture_output=True, text=True, timeout=limit, check=False
        )
        if done.returncode == -signal.SIGXCPU:
            spent = float(tool.setting["cpu_seconds"])
            return Measurement(case=case.name, tool=tool.label, status="timeout", seconds=spent)
        said, complaint = done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        # What was caught is bytes on some systems, whatever was asked for.
        said = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        if not said:
            return Measurement(case=case.name, tool=tool.label, status="timeout", seconds=limit)
        complaint = ""
    return _parsed(tool, case, said, complaint)


def _parsed(tool: Tool, case: Case, said: str, complaint: str) -> Measurement:
    answer: dict[str, Any] = {}
    for line in said.splitlines():
        # An error after the first line is about an extra, not about the answer.
        answer = json.loads(line) | answer if answer else json.loads(line)
    if not answer:
        last = (complaint.strip() or "ended without an answer").splitlines()[-1]
        return Measurement(case=case.name, tool=tool.label, status="error", error=last)
    if "upper" in answer:
        answer.pop("error", None)
        answer["upper"] = math.nan if answer["upper"] is None else answer["upper"]
    status: Literal["done", "error"] = "error" if "error" in answer else "done"
    return Measurement(case=case.name, tool=tool.label, status=status, **answer)


def _finite(value: object) -> object:
    """JSON has no infinities: they are written as text."""
    bare = isinstance(value, float) and not math.isfinite(value)
    return str(value) if bare else value
