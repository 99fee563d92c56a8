"""The checker of certificates: exact rational arithmetic, no search, nothing else of dpverify.

- `forms`: linear forms and contradictions between facts; `neighbors`: what a schema allows;
- `alignments`: translations of the noise; `induction`: the same for data of any length;
- `sums`: releases of data plus noise;
- `numbers`, `masses`, `exactly`: probabilities, computed anew.
"""

from dpverify.certifying.checking.alignments import alignment
from dpverify.certifying.checking.exactly import counterexample, exact
from dpverify.certifying.checking.forms import Invalid, Json
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
_MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, ZeroDivisionError)


def verify(evidence: Json) -> str:
    """What the evidence shows, "proved" or "refuted"; raises `Invalid` if it shows nothing."""
    try:
        return _METHODS[evidence["method"]](evidence)
    except (*_MALFORMED, RecursionError) as error:
        raise Invalid(f"malformed: {type(error).__name__} {error}") from None


__all__ = ["Invalid", "verify"]
