"""What the parser of commands objects to, in the words of all other messages.

Errors are told apart by what they carry, as the parser's own module is not imported here: what is
wrong must be told even where that is broken.
"""

import re
from typing import Any

_CHOICE = re.compile(r"(?:Value error, )?(?P<value>'.*') is not one of (?P<choices>.+?)\.?")
_COMMAND = re.compile(r"No such command (?P<value>'.*')\.(?P<hint>.*)", re.DOTALL)
_EXTRA = re.compile(r"Got unexpected extra argument(?:s|\(s\))? \((?P<value>.*)\)", re.DOTALL)


def objection(error: BaseException) -> str | None:
    """One sentence that names argument, value and what is allowed; None if no parser raised it."""
    if not hasattr(error, "format_message"):
        return None
    message = str(getattr(error, "message", ""))
    verb = getattr(getattr(error, "ctx", None), "command_path", "dpverify")
    parameter = getattr(error, "param", None)
    option = getattr(error, "option_name", None)
    if parameter is not None:
        return _of_parameter(parameter, message)
    if hasattr(error, "possibilities"):
        likely = ", ".join(sorted(error.possibilities or ()))
        return f"{option} must be an option of `{verb}`" + (
            f"; did you mean {likely}?" if likely else "; --help lists them"
        )
    if option is not None:
        rest = "without a value" if "not take a value" in message else "a value"
        return f"{option} must be given {rest}"
    if found := _COMMAND.fullmatch(message):
        allowed = ", ".join(error.ctx.command.commands)  # type: ignore[attr-defined]
        return f"verb={found['value']} must be one of: {allowed}.{found['hint']}"
    if found := _EXTRA.fullmatch(message):
        return f"arguments must end before {found['value']!r}: `{verb} --help` lists them"
    return str(error.format_message())


def _of_parameter(parameter: Any, message: str) -> str:  # noqa: ANN401  # of the parser
    name = str(parameter.opts[0])
    if not message:
        return f"{name} must be given: {str(parameter.help).rstrip('.')}"
    if found := _CHOICE.fullmatch(message):
        return f"{name}={found['value']} must be one of: {found['choices'].replace(chr(39), '')}"
    return f"{name}={message}" if message.startswith("'") else f"{name}: {message}"
