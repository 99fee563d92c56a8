"""A budget in a file: opened once, spent by many, and never exceeded."""

import datetime as dt
import getpass
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, overload

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import brief
from dpverify.claims import Claim
from dpverify.errors import (
    BudgetExceeded,
    InvalidParameter,
    LedgerDamaged,
    NotSupported,
    as_between,
    as_count,
)
from dpverify.guarantees import Bracket, Guarantee, from_dict, to_dict
from dpverify.ledger.amounts import Amounts, added, read, written
from dpverify.ledger.entries import Entry, Status
from dpverify.ledger.filters import Filter
from dpverify.ledger.guards import guarded
from dpverify.ledger.plans import RequestPlan
from dpverify.ledger.schemes import By, Scheme, checked_orders
from dpverify.ledger.store import Store, StoredEntry, Transaction
from dpverify.ledger.subjects import Requested, parts_of
from dpverify.ledger.words import percent
from dpverify.mechanisms import Gaussian
from dpverify.neighbors import Relation

T = TypeVar("T")
_HASH = re.compile("[0-9a-fA-F]{64}")
_APART = dt.timedelta(minutes=5)  # between clocks of machines that share a ledger


def now() -> dt.datetime:
    """The time for an entry."""
    return dt.datetime.now(dt.UTC)


@dataclass(frozen=True, slots=True)
class Receipt(AbstractContextManager["Receipt"]):
    """A request that was granted; it stays charged whatever happens next.

    As `with ledger.spend(mechanism): …` it says what the budget is spent for. Leaving the block,
    by an exception too, gives nothing back: something may have been released by then.
    """

    entry: Entry

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        del kind, error, where


class Ledger:
    """Budgets of datasets in one file; every charge is written there before the release.

    Several processes may use the file at once. See `dpverify/ledger/store.py` for what it
    survives, and `Filter` for how requests are charged.

    >>> import dpverify as dpv
    >>> from tempfile import mkdtemp
    >>> path = mkdtemp() + "/b.ledger"
    >>> ledger = dpv.Ledger.open(path, budget=dpv.PureDP(1.0), relation=dpv.Relation.ADD_REMOVE)
    >>> _ = ledger.spend(dpv.Laplace(scale=4.0), label="mean age")
    >>> ledger.status().share
    0.25
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._store = Store.at(path)
        self._seen: tuple[int, str] | None = None
        self._sound: tuple[int, str] | None = None  # all entries up to this one were checked
        with self._reading() as seen:
            seen.last()

    @property
    def path(self) -> Path:
        return self._store.path

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        with self._store.reading() as seen, self._following(seen):
            yield seen

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        with self._store.writing() as held, self._following(held):
            yield held

    @contextmanager
    def _following(self, seen: Transaction) -> Iterator[None]:
        """Check that entries seen before still exist, so an older copy grants nothing again."""
        if self._seen is not None:
            seen.check_seen(*self._seen)
        head = seen.head
        yield
        self._note(head)

    def _check_new(self, seen: Transaction) -> None:
        """Check every entry that this process has not checked before."""
        rows = seen.rows() if self._sound is None else seen.rows_after(*self._sound)
        for _ in rows:
            pass
        self._sound = seen.head

    def _note(self, head: tuple[int, str]) -> None:
        if head[0] and (self._seen is None or head[0] > self._seen[0]):
            self._seen = head

    @classmethod
    def open(  # noqa: PLR0913  # all that a budget is
        cls,
        path: str | os.PathLike[str],
        *,
        budget: Guarantee,
        relation: Relation,
        dataset: str = "main",
        by: By | None = None,
        orders: Iterable[float] | None = None,
        leak_share: float | None = None,
        plan: Accountant | None = None,
        user: str | None = None,
        ignore_clock: bool = False,
    ) -> "Ledger":
        """Set a budget for a dataset, in a new file or next to those of other datasets."""
        orders = None if orders is None else checked_orders(orders)
        if leak_share is not None:
            leak_share = float(as_between("leak_share", leak_share, 0.0, 1.0))
        made = Filter(budget, relation, by=by, orders=orders, leak_share=leak_share, plan=plan)
        dataset = _name("dataset", dataset)
        store = Store.at(path)
        told = {
            "kind": "open",
            "budget": to_dict(budget),
            "relation": made.relation.value,
            "options": {"by": by, "orders": orders, "leak_share": leak_share},
            "scheme": None if made.scheme is None else made.scheme.to_dict(),
            "user": _user(user),
        }
        store.create()
        with store.writing() as held:
            for _ in held.rows():
                pass
            if held.ends(dataset):
                raise InvalidParameter(f"dataset={dataset!r} must be new: it has a budget already")
            held.append(dataset, told | {"time": _time(held, ignore_clock=ignore_clock)})
        return cls(path)

    def spend(  # noqa: PLR0913  # all that an entry tells
        self,
        mechanism: Requested,
        *,
        times: int = 1,
        dataset: str | None = None,
        label: str = "",
        user: str | None = None,
        ignore_clock: bool = False,
    ) -> Receipt:
        """Charge a mechanism before it runs; raise `BudgetExceeded` if it does not fit.

        The charge is on disk when this returns. Nothing is added to a file that was edited: every
        entry is checked first, once by each `Ledger`. A clock that is behind the last entry is
        refused; with `ignore_clock`, the entry has the time of the last one.
        """
        times, label = as_count("times", times), _label(label)
        who, shown = _user(user), _shown(mechanism)
        with self._reading() as seen:
            self._check_new(seen)
            name = _chosen(seen, dataset)
            relation = _state(seen, name).relation
        # What a mechanism does to say what it costs is done before the file is locked.
        parts = Accountant(relation=relation).extended(
            *parts_of(mechanism, times=times, relation=relation)
        )
        with self._writing() as held:
            self._check_new(held)
            state = _state(held, name)
            before = state.spent
            decided = state.scheme
            if not state.request(parts):
                raise BudgetExceeded(
                    f"mechanism={shown} must fit what is left of the budget of "
                    f"dataset={name!r}: {percent(state.share)} of it is spent"
                )
            scheme = state.scheme
            if scheme is None:
                raise InvalidParameter(
                    f"mechanism={shown} must not be the first request of dataset={name!r}, which "
                    "decides how all are charged; open the budget with by=…, or skip it"
                )
            told = {
                "kind": "spend",
                "time": _time(held, ignore_clock=ignore_clock),
                "user": who,
                "label": label,
                "mechanism": shown,
                "times": times,
                "charge": written(_difference(before, state.spent)),
                "spent": written(state.spent),
                "share": state.share,
                "scheme": scheme.to_dict() if decided is None else None,
            }
            row = held.append(name, told)
        self._note((row.seq, row.hash))
        return Receipt(Entry.of(row))

    def request(self, mechanism: Requested, **options: Any) -> bool:  # noqa: ANN401  # of spend
        """Charge a mechanism and return True if it fits, else False; options as in `spend`."""
        try:
            self.spend(mechanism, **options)
        except BudgetExceeded:
            return False
        return True

    def fits(self, mechanism: Requested, *, times: int = 1, dataset: str | None = None) -> bool:
        """Whether `request` would grant this; nothing is charged."""
        return self.filter(dataset).fits(mechanism, times=times)

    def filter(self, dataset: str | None = None) -> Filter:
        """A dataset's current budget as a filter to ask what would fit; it charges nothing."""
        with self._reading() as seen:
            self._check_new(seen)
            return _state(seen, _chosen(seen, dataset)).shown()

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets that have a budget in this file."""
        with self._reading() as seen:
            return tuple(seen.datasets())

    def status(self, dataset: str | None = None) -> Status:
        """The state of a dataset's budget; the whole file is checked first."""
        rows = self._checked()
        with self._reading() as seen:
            name = _chosen(seen, dataset)
        return _status(name, [row for row in rows if row.dataset == name])

    def statuses(self) -> tuple[Status, ...]:
        """The state of every budget; the whole file is checked first."""
        by_name: dict[str, list[StoredEntry]] = {}
        for row in self._checked():
            by_name.setdefault(row.dataset, []).append(row)
        return tuple(_status(name, rows) for name, rows in by_name.items())

    def history(self, dataset: str | None = None) -> tuple[Entry, ...]:
        """Every entry, or those of one dataset, in order; the whole file is checked first."""
        found = tuple(map(Entry.of, self._checked()))
        dataset = None if dataset is None else unicodedata.normalize("NFC", str(dataset))
        if dataset is not None and dataset not in {entry.dataset for entry in found}:
            raise InvalidParameter(f"dataset={dataset!r} must have a budget here")
        return tuple(entry for entry in found if dataset in {None, entry.dataset})

    def verify(self, *, since: str | None = None) -> str:
        """Check every page, hash and sum of the file; return the hash of its last entry.

        Keep that hash elsewhere, and give it as `since` later: `LedgerDamaged` is raised unless
        the entry is still there, and so all that came before it.
        """
        if since is not None and not _HASH.fullmatch(str(since)):
            raise InvalidParameter(f"since={since!r} must be a hash of 64 hexadecimal digits")
        rows = self._checked()
        if since is not None and str(since).lower() not in {row.hash for row in rows}:
            raise LedgerDamaged(
                f"since={since} must be the hash of an entry: the ledger was written anew, or is "
                "an older copy or another one"
            )
        return rows[-1].hash if rows else self.head

    @property
    def head(self) -> str:
        """The hash of the last entry; only that one is checked."""
        with self._reading() as seen:
            last = seen.last()
            return seen.head[1] if last is None else last.hash

    def _checked(self) -> list[StoredEntry]:
        with self._reading() as seen:
            seen.check_pages()
            rows = list(seen.rows())
        _check_sums(rows)
        return rows

    @overload
    def guard(self, thing: T, /) -> T: ...
    @overload
    def guard(self, /, *, charge: Requested, **options: Any) -> Callable[[T], T]: ...  # noqa: ANN401
    def guard(self, thing: Any = None, /, **options: Any) -> Any:  # what it is given
        """Wrap a mechanism, estimator or function so that it charges this ledger before it runs.

        - of a mechanism (`sample`): each draw is charged;
        - of an estimator (`fit`, `partial_fit`, `fit_…`): its declared budget is charged by each
          call, before it sees any data;
        - of a function, as `@ledger.guard(charge=mechanism)`: each call charges that mechanism.

        Classes may be guarded, too. Options: charge, and those of `spend`.
        """
        if thing is None:
            return lambda later: guarded(self, later, **options)
        return guarded(self, thing, **options)


def _name(what: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidParameter(f"{what}={value!r} must be a name of printable characters")
    if value != value.strip():
        raise InvalidParameter(f"{what}={value!r} must be a name without spaces around it")
    return unicodedata.normalize("NFC", value)  # what looks the same is the same


def _label(value: object) -> str:
    text = str(value)
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidParameter(f"label={text!r} must be text that UTF-8 can hold")
    return text


def _user(user: str | None) -> str:
    if user is not None:
        return _name("user", user)
    try:
        found = getpass.getuser()
    except (KeyError, OSError):  # no name for this number
        found = str(os.getuid())
    return found if found.isprintable() else ascii(found)[1:-1]


def _shown(mechanism: Requested) -> str:
    if isinstance(mechanism, Accountant):
        text = " + ".join(f"{part.times} × {part.label}" for part in mechanism.parts) or "nothing"
    else:
        text = brief(mechanism.guarantee if isinstance(mechanism, Claim) else mechanism)
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= 400 else f"{text[:400]}…"


def _time(held: Transaction, *, ignore_clock: bool) -> str:
    """The time of a new entry, no earlier than that of the last one.

    Clocks of several machines differ a little. One that is further behind was set back, or the
    last one was ahead: entries are ordered by their numbers, but somebody should know.
    """
    last, time = held.last(), now()
    latest = time if last is None else max(time, _time_of(last.told))
    if latest - time > _APART and not ignore_clock:
        raise InvalidParameter(
            f"clock={time.isoformat(timespec='seconds')} must not be behind the last entry, of "
            f"{latest.isoformat(timespec='seconds')}; ignore_clock goes on in spite of it"
        )
    return latest.isoformat(timespec="microseconds")


def _time_of(told: dict[str, Any]) -> dt.datetime:
    with _as_written():
        return dt.datetime.fromisoformat(told["time"]).astimezone(dt.UTC)


def _chosen(seen: Transaction, dataset: str | None) -> str:
    """The dataset to use; it may be omitted if there is only one."""
    names = seen.datasets()
    if dataset is None and len(names) == 1:
        return names[0]
    dataset = None if dataset is None else unicodedata.normalize("NFC", str(dataset))
    if dataset not in names:
        listed = ", ".join(names) or "none"
        raise InvalidParameter(f"dataset={dataset!r} must be one that has a budget here: {listed}")
    return str(dataset)


def _state(seen: Transaction, dataset: str) -> Filter:
    """The filter of a dataset after its last entry."""
    seen.last()
    rows = seen.ends(dataset)
    return _resumed([row.told for row in rows])


def _resumed(entries: list[dict[str, Any]]) -> Filter:
    """The filter after these entries: the first two, and the last."""
    opened, *later = entries
    with _as_written():
        budget, relation = from_dict(opened["budget"]), Relation.parse(opened["relation"])
        if isinstance(budget, Bracket):
            raise TypeError("a budget must be a guarantee")
        told = opened["scheme"] or (later[0]["scheme"] if later else None)
        if told is None and later:
            raise KeyError("scheme")
        if told is None:
            return Filter(budget, relation, **opened["options"])
        scheme = _scheme(told)
        spent = read(later[-1]["spent"]) if later else scheme.start
        return Filter.resumed(budget, relation, scheme, spent)


def _scheme(told: dict[str, Any]) -> Scheme | RequestPlan:
    kind: type[Scheme | RequestPlan] = RequestPlan if told["by"] == "plan" else Scheme
    return kind.from_dict(told)


@contextmanager
def _as_written() -> Iterator[None]:
    """What is wrong with an entry, in a sentence."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise LedgerDamaged(f"entries must be as they were written: {error}") from None


def _difference(before: Amounts, after: Amounts) -> Amounts:
    """What was added to each amount, if anything."""
    return {
        name: amount - before.get(name, Fraction())
        for name, amount in after.items()
        if amount != before.get(name, Fraction())
    }


def _check_sums(rows: Iterable[StoredEntry]) -> None:
    """Raise unless every total is the previous one plus the charge, within the budget.

    And unless times never decrease.
    """
    states: dict[str, tuple[Scheme | RequestPlan | None, Amounts]] = {}
    latest = dt.datetime.min.replace(tzinfo=dt.UTC)
    for row in rows:
        told = row.told
        time = _time_of(told)
        if time < latest:
            raise LedgerDamaged(f"entry={row.seq} must not be before the one before it: {time}")
        latest = time
        if row.dataset not in states:
            opened = _resumed([told])
            states[row.dataset] = opened.scheme, opened.spent
            continue
        scheme, before = states[row.dataset]
        with _as_written():
            scheme = scheme or _scheme(told["scheme"])
            charge, spent = read(told["charge"]), read(told["spent"])
            fits = scheme.fits(spent)
        for name, amount in spent.items():
            total = added(before.get(name, Fraction()), charge.get(name, Fraction()))
            if total != amount:
                raise LedgerDamaged(f"entry={row.seq} must add up: {name}={amount} is not {total}")
        if not fits:
            raise LedgerDamaged(f"entry={row.seq} must keep the budget, and does not")
        states[row.dataset] = scheme, spent


def _status(dataset: str, rows: list[StoredEntry]) -> Status:
    told = [row.told for row in rows]
    state = _resumed([*told[:2], *told[-1:]] if len(told) > 2 else told)
    return Status(
        dataset=dataset,
        budget=state.budget,
        relation=state.relation,
        theorem=state.theorem,
        requests=len(rows) - 1,
        spent=state.spent,
        share=state.share,
        needed=state.least_budget(),
        least_sigma=_least_sigma(state),
        opened=told[0]["time"],
        changed=told[-1]["time"],
    )


def _least_sigma(state: Filter) -> float | None:
    try:
        return state.remaining(Gaussian)
    except NotSupported:
        return None


def entries_of(ledger: Ledger) -> Iterator[dict[str, Any]]:
    """Every entry with its hash, so that a third party can check the chain."""
    for row in ledger._checked():  # noqa: SLF001  # of this file
        yield {"seq": row.seq, "dataset": row.dataset, "body": row.body, "hash": row.hash}
