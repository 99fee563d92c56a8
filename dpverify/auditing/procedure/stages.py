"""When an audit draws, learns, classifies and chooses: functions of the budget alone."""

from bisect import bisect
from collections.abc import Iterator

FIRST = 64
LEARN_FROM = 16_384  # latest draws a side that attacks look at
_MOST_NUMBERS = 1 << 24  # of one side that are held in memory
_LEAST_HELD = 256  # draws a side
LAST_CHOICE = 0.35  # of the budget
_CHOICES = (0.1, 0.2, LAST_CHOICE)  # shares of the budget at which the block's event may be chosen
_CLASSIFY_AT = (400, 1_500, 5_000, 15_000, 50_000)


def stages(budget: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each stage: 64, 96, 128, 192, 256, … draws in all, up to the budget."""
    begin, end, wide = 0, FIRST, True
    while begin < budget:
        yield begin, min(end, budget)
        begin, end = end, end * 3 // 2 if wide else end * 4 // 3
        wide = not wide


def most_held(width: int) -> int:
    """How many draws a side of outputs of so many numbers are held at a time."""
    return min(LEARN_FROM, max(_LEAST_HELD, _MOST_NUMBERS // max(width, 1)))


def pieces(begin: int, end: int, width: int) -> Iterator[tuple[int, int]]:
    """A stage as it is drawn and judged: in pieces where outputs have many numbers."""
    step = end - begin if width * (end - begin) <= _MOST_NUMBERS else most_held(width)
    for start in range(begin, end, step):
        yield start, min(start + step, end)


def searches(end: int) -> bool:
    """Whether events for bets are looked for at the end of this stage: whenever draws quadrupled.

    Twice as often at first, where one search more may spare many draws; and never once there are
    more draws than attacks look at, since no more is known then.
    """
    power = end & (end - 1) == 0 and end <= LEARN_FROM
    return power and (end <= 1_024 or end.bit_length() % 2 == FIRST.bit_length() % 2)


def tunes(end: int) -> bool:
    """Whether at least the stakes are chosen anew, for the events that are bet on."""
    return end & (end - 1) == 0 or end <= 1_024


def classifies(end: int, budget: int) -> bool:
    """Whether classifiers, which are slow, are learned at the end of this stage."""
    ends = [stop for _, stop in stages(budget)]
    return end in {next((e for e in ends if e >= at), ends[-1]) for at in _CLASSIFY_AT}


def choices_passed(end: int, budget: int) -> int:
    """How many of the moments lie behind at which the block's event may be chosen."""
    return bisect(_CHOICES, end / budget)
