"""What noisy gradient methods share: the setting, the iterates, and the release."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import (
    Arithmetic,
    InvalidParameter,
    NotSupported,
    check_arithmetic,
    check_between,
    check_count,
    check_draw,
    check_flag,
    check_member,
    check_positive,
    check_real,
    settle_fields,
    shown,
)
from dpverify.neighbors import Relation
from solvers.bounds import Bounds, Data, prepared_chunks
from solvers.chunks import Chunks
from solvers.domains import Domain
from solvers.losses import Loss
from solvers.losses.softmax import classes_of
from solvers.privacy.clipped_sums import (
    ELEMENTWISE,
    FARTHEST,
    ChunkedSums,
    ClippedSums,
    Wholes,
    ceil_log2,
)
from solvers.privacy.noise import Kind, StepNoise
from solvers.privacy.weights import WEIGHTS_BELONG

Output: TypeAlias = Literal["average", "tail", "last"]
Summing: TypeAlias = Callable[[Floats], Wholes]  # parameters (m, d) to the sums of the next step

_CELLS = 1 << 22  # floats of transcripts held at once
_FASTEST = 2.0**1000  # of an average of gradients, which stays finite


@dataclass(frozen=True, slots=True, kw_only=True)
class DescentSetting:
    """The problem and the data norm that a noisy gradient method works with.

    min over θ in `domain` of (1/n)·Σ ℓ(θ; xᵢ, yᵢ) + (`ridge`/2)·‖θ‖², by noisy gradients.

    `records` is the public number that sums are divided by. Under REPLACE_ONE the data must have
    just as many; under ADD_REMOVE how many there are is private, so `records` is a declared guess
    and the data may have more or fewer. `clip` bounds the length of each record's gradient; by
    default it is the loss's Lipschitz constant, and nothing is changed.
    """

    loss: Loss
    bounds: Bounds
    domain: Domain
    relation: Relation
    records: int
    clip: float | None = None
    ridge: float = 0.0
    clip_records: bool = False
    arithmetic: Arithmetic = "grid"

    def __post_init__(self) -> None:
        settle_fields(self)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        self.loss.check_bounds(self.bounds)
        check_count("records", self.records)
        if self.clip is not None:
            check_positive("clip", self.clip)
        check_between("ridge", self.ridge, 0.0, math.inf)
        check_flag("clip_records", self.clip_records)
        check_arithmetic(self.arithmetic)

    def clipping_norm(self, dimension: int) -> float:
        """A bound on every record's gradient norm; raise if there is none."""
        if self.clip is not None:
            return float(self.clip)
        length = self.loss.lipschitz(self.bounds, self.domain, dimension)
        if length == math.inf:
            raise InvalidParameter(
                f"clip=None must be a number: gradients of the {self.loss.name} loss have no bound "
                "on this domain, so their sum has infinite sensitivity"
            )
        return length

    def sums(self, data: Data) -> "ClippedSums | ChunkedSums":
        """The checked data, in a form that gives sums of clipped gradients."""
        if isinstance(data, Chunks):
            return self._chunked(prepared_chunks(data, self.bounds, clip=self.clip_records))
        X, y = self.bounds.prepare(*features_and_labels(data), clip=self.clip_records)  # noqa: N806
        self._check_shape(X.shape)
        clip = self.clipping_norm(X.shape[1] * classes_of(self.loss))
        return ClippedSums.of(self.loss, (X, y), norm=float(self.bounds.norm), clip=clip)

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if self.relation is Relation.REPLACE_ONE and shape[0] != self.records:
            raise InvalidParameter(
                f"records={self.records!r} must be the {shape[0]} rows of X: where records are "
                "replaced, how many there are is public"
            )
        self.domain.check_dimension(shape[1] * classes_of(self.loss))

    def _chunked(self, chunks: Chunks) -> ChunkedSums:
        self._check_shape(chunks.shape)
        clip = self.clipping_norm(chunks.shape[1] * classes_of(self.loss))
        return ChunkedSums(self.loss, chunks, norm=float(self.bounds.norm), clip=clip)

    def radius(self, dimension: int) -> float:
        """The largest distance from the start (θ = 0 or its projection) within the domain."""
        zero = np.zeros(dimension)
        if (self.domain.project(zero) == zero).all():
            return self.domain.largest_norm(dimension)
        return self.domain.diameter(dimension)


class Method(Protocol):
    """What a noisy gradient method must provide for the shared code."""

    @property
    def setting(self) -> DescentSetting: ...
    @property
    def steps(self) -> int: ...
    @property
    def claim(self) -> Claim: ...
    def noise(self, dimension: int) -> StepNoise: ...
    @property
    def momentum(self) -> float: ...
    def divisor(self) -> float: ...
    def rate(self, dimension: int) -> float: ...
    def gradient_sums(
        self, sums: ClippedSums | ChunkedSums, rng: np.random.Generator
    ) -> Summing: ...


class Iterate(NamedTuple):
    """The current point of each run, and its momentum average of gradients."""

    parameters: Floats
    velocity: Floats | None


@dataclass(frozen=True, slots=True)
class Path:
    """Computes the iterates from noisy gradient sums alone: post-processing, without the data.

    With a momentum m a step follows v ← m·v + (1 − m)·gradient, from v = 0, in place of the
    gradient itself: an average, so that a learning rate means the same for every m.
    """

    setting: DescentSetting
    learning_rate: float
    divisor: float
    momentum: float = 0.0

    def start(self, count: int, dimension: int) -> Iterate:
        at = self.setting.domain.project(np.zeros((count, dimension)))
        return Iterate(at, np.zeros_like(at) if self.momentum else None)

    def after(self, place: Iterate, released: Floats) -> Iterate:
        """The next iterate: the projection of θ − η·v; v is released/n + ridge·θ or its average.

        A path that leads away for ever, since η is too large, ends at numbers that floats hold.
        """
        farthest = math.ldexp(FARTHEST, -ceil_log2(float(self.setting.bounds.norm)))
        with np.errstate(over="ignore"):
            along = released / self.divisor + float(self.setting.ridge) * place.parameters
            if place.velocity is not None:
                mixed = self.momentum * place.velocity + (1.0 - self.momentum) * along
                along = np.clip(mixed, -_FASTEST, _FASTEST)
            moved = place.parameters - self.learning_rate * along
        at = self.setting.domain.project(np.clip(moved, -farthest, farthest))
        return Iterate(at, None if place.velocity is None else along)

    def result(self, gradients: Floats, output: Output) -> Floats:
        """The last iterate, or the average of all iterates or of their later half."""
        count, steps, dimension = gradients.shape
        first = {"average": 0, "tail": (steps + 1) // 2, "last": steps}[output]
        place = self.start(count, dimension)
        total = np.zeros((count, dimension))
        for step in range(steps + 1):
            if step > 0:
                place = self.after(place, gradients[:, step - 1])
            if step >= first:
                total += place.parameters
        result: Floats = total / (steps + 1 - first)
        return result


@dataclass(frozen=True, slots=True)
class Transcript:
    """All noisy gradient sums of a method, an array (size, steps, d), which determine its iterates.

    The claim is the method's own: this is what its theorem is about.
    """

    method: Method

    @property
    def claim(self) -> Claim:
        return self.method.claim

    def sample(self, data: Data, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent runs."""
        check_draw(size, rng)
        return _gradients(self.method, self.method.setting.sums(data), size, rng)


@dataclass(frozen=True, slots=True)
class FullTranscript(Transcript):
    """The transcript of a method that uses every record at every step; its density is known."""

    def log_density(self, outputs: ArrayLike, data: Data) -> Floats:
        """For each run, the log of the product of the densities of its noise."""
        sums = self.method.setting.sums(data)
        noise, path = self.method.noise(sums.dimension), path_of(self.method, sums.dimension)
        runs = np.asarray(outputs, np.float64)
        wanted = (int(self.method.steps), sums.dimension)
        if runs.ndim != 3 or runs.shape[1:] != wanted:
            shape = f"(size, {wanted[0]}, {wanted[1]})"
            raise InvalidParameter(f"outputs of shape {runs.shape} must have the shape {shape}")
        logs = np.zeros(len(runs))
        place = path.start(len(runs), sums.dimension)
        for step in range(wanted[0]):
            totals = sums.total(place.parameters)
            logs += noise.log_density(runs[:, step], totals, sums.exponent)
            place = path.after(place, runs[:, step])
        return logs


def path_of(method: Method, dimension: int) -> Path:
    return Path(method.setting, method.rate(dimension), method.divisor(), float(method.momentum))


def released(
    method: Method, data: Data, size: int, rng: np.random.Generator, output: Output
) -> Floats:
    """`size` private fits (size, d), computed in blocks to limit memory."""
    check_draw(size, rng)
    sums = method.setting.sums(data)
    path = path_of(method, sums.dimension)
    result = np.empty((size, sums.dimension))
    block = max(1, _CELLS // (int(method.steps) * sums.dimension))
    for start in range(0, size, block):
        stop = min(start + block, size)
        result[start:stop] = path.result(_gradients(method, sums, stop - start, rng), output)
    return result


def check_path(output: object, momentum: float) -> None:
    """Raise for parameters that no gradient method allows."""
    check_member("output", output, ("average", "tail", "last"))
    check_real("momentum", momentum)
    if not 0 <= momentum < 1:
        raise InvalidParameter(f"momentum={shown(momentum)} must be at least 0 and below 1")


def assumptions(setting: DescentSetting, kind: Kind) -> tuple[str, ...]:
    """The assumptions of a claim besides its theorem, for noise of that kind."""
    drawn = StepNoise(
        kind=kind, scale=1.0, sensitivity=1.0, dimension=2, arithmetic=setting.arithmetic
    ).assumes
    # Each record's weighted gradient is clipped, so that weights change no sensitivity.
    weights = (WEIGHTS_BELONG,) if setting.bounds.weighted else ()
    return (*drawn, *weights) if setting.arithmetic == "real" else (*drawn, ELEMENTWISE, *weights)


def above(value: float) -> float:
    """The next larger float, which is no less than a product rounded to `value`."""
    return math.nextafter(value, math.inf)


def _gradients(
    method: Method, sums: ClippedSums | ChunkedSums, size: int, rng: np.random.Generator
) -> Floats:
    """The noisy gradient sums of `size` runs: an array (size, steps, d)."""
    noise, path = method.noise(sums.dimension), path_of(method, sums.dimension)
    result = np.empty((size, int(method.steps), sums.dimension))
    place, summed = path.start(size, sums.dimension), method.gradient_sums(sums, rng)
    for step in range(int(method.steps)):
        result[:, step] = noise.release(summed(place.parameters), sums.exponent, rng)
        place = path.after(place, result[:, step])
    return result


def features_and_labels(data: Data) -> tuple[ArrayLike, ArrayLike]:
    if isinstance(data, Chunks):
        raise NotSupported("data in chunks must be gathered() for this mechanism")
    try:
        X, y = data  # noqa: N806
    except (TypeError, ValueError):
        raise InvalidParameter("data must be a pair (X, y) of features and labels") from None
    return X, y
