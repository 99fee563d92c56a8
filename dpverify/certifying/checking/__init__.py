"""The checker of certificates: exact rational arithmetic, without search or other dpverify code.

- `forms`: linear forms and contradictions between facts; `neighbors`: what a schema allows;
  `trees`: programs;
- `alignments`: translations of the noise; `induction`: the same for data of any length;
- `sums` and `normal`: releases of data plus noise;
- `numbers`, `masses`, `exactly`: probabilities, computed anew.
"""

import json

from dpverify.certifying.checking.alignments import alignment
from dpverify.certifying.checking.exactly import counterexample, exact
from dpverify.certifying.checking.forms import Invalid, Json, need
from dpverify.certifying.checking.induction import induction
from dpverify.certifying.checking.sums import check_gaussian_event, check_sums

_METHODS = {
    "alignment": alignment,
    "induction": induction,
    "exact": exact,
    "counterexample": counterexample,
    "sums": check_sums,
    "gaussian event": check_gaussian_event,
}
_MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError)


def verify(evidence: Json) -> str:
    """What the evidence shows, "proved" or "refuted"; raise `Invalid` if it shows neither."""
    try:
        return _METHODS[evidence["method"]](evidence)
    except (*_MALFORMED, RecursionError) as error:
        raise Invalid(f"malformed: {type(error).__name__} {error}") from None


def parsed(text: str) -> Json:
    """The values in a file; duplicate keys, floats and NaN raise `Invalid`."""
    try:
        return json.loads(
            text, object_pairs_hook=_once, parse_float=_refused, parse_constant=_refused
        )
    except (ValueError, RecursionError) as error:
        raise Invalid(f"no JSON: {error}") from None


def _once(pairs: list[tuple[str, Json]]) -> Json:
    need(len(dict(pairs)) == len(pairs), "a key is there twice")
    return dict(pairs)


def _refused(number: str) -> Json:
    raise Invalid(f"{number} is no rational")


__all__ = ["Invalid", "parsed", "verify"]
