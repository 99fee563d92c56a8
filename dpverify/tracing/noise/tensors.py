"""Noise of PyTorch: tensors whose noise is not yet drawn, and the functions that draw them.

What is linear is done by the forms of numpy's arrays; anything else gets plain tensors.
"""

# ruff: noqa: ANN401  # tensors and operands are whatever torch has

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.tracing.noise.arrays import NoisyArray
from dpverify.tracing.noise.generator import RecordingGenerator
from dpverify.tracing.noise.shapes import as_array, as_number, is_noisy
from dpverify.tracing.recording.journal import CURRENT
from dpverify.tracing.recording.places import Place, here


def _torch() -> Any:
    return sys.modules["torch"]


class NoisyTensor:
    """A tensor with noise in it; `form` is a noisy array."""

    __slots__ = ("form", "kind")

    def __init__(self, form: Any, kind: str) -> None:
        self.form = form
        self.kind = kind  # the name of its dtype

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        return _applied(func, args, kwargs or {}, here(2))

    @property
    def dtype(self) -> Any:
        return getattr(_torch(), self.kind)

    @property
    def shape(self) -> Any:
        return _torch().Size(as_array(self.form).shape)

    def realize(self, place: Place | None = None) -> Any:
        """The tensor as plain numbers, which are known from now on."""
        values = np.asarray(self.form.realize(place or here()))
        return _torch().as_tensor(values).to(self.dtype)

    def item(self) -> Any:
        return as_number(self.form.reshape(())) if isinstance(self.form, NoisyArray) else self.form

    def numpy(self, **_: Any) -> Any:
        return self.form

    def tolist(self) -> Any:
        return self.form.tolist() if isinstance(self.form, NoisyArray) else self.form

    def __len__(self) -> int:
        return len(self.form)

    def __iter__(self) -> Any:
        return (_wrapped(part, self.kind) for part in self.form)

    def __float__(self) -> float:
        return float(self.form)

    def __int__(self) -> int:
        return int(self.form)

    def __bool__(self) -> bool:
        return bool(self.form)

    def __repr__(self) -> str:
        return repr(self.realize(here(1)))

    def __format__(self, spec: str) -> str:
        return format(self.realize(here(1)), spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001
        return np.asarray(self.form.realize(here(1)), dtype=dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(_torch().Tensor, name)  # a method, which is asked for what it does
        if not callable(found):
            return getattr(self.realize(here(1)), name)
        place = here(1)
        return lambda *args, **options: _applied(found, (self, *args), options, place)


def _wrapped(found: Any, kind: str) -> Any:
    """What numpy made of forms, in the form that torch expects."""
    if is_noisy(found):
        return NoisyTensor(found, kind)
    if isinstance(found, (np.ndarray, np.generic)):
        made = _torch().as_tensor(np.asarray(found))
        return made.to(getattr(_torch(), kind)) if made.is_floating_point() else made
    return found


def _plain(value: Any, place: Place) -> Any:
    """An argument with every noisy tensor in it made plain."""
    if type(value) is NoisyTensor:
        return value.realize(place)
    if is_noisy(value):
        return value.realize(place)
    if type(value) in {list, tuple}:
        return type(value)(_plain(part, place) for part in value)
    return value


def _forms(value: Any) -> Any:
    """An argument in the form that numpy takes."""
    if type(value) is NoisyTensor:
        return value.form
    if isinstance(value, _torch().Tensor):
        if value.is_floating_point():
            CURRENT.get().met(_torch().finfo(value.dtype).eps)
        return value.detach().cpu().numpy().astype(np.float64)
    if type(value) in {list, tuple}:
        return type(value)(_forms(part) for part in value)
    return value


def _kind(args: Any) -> str:
    """The dtype of a result, from the tensors that went in."""
    found: list[Any] = []
    for value in args:
        found += value if type(value) in {list, tuple} else [value]
    kinds = [t.kind for t in found if type(t) is NoisyTensor]
    kinds += [_name(t.dtype) for t in found if isinstance(t, _torch().Tensor)]
    return "float64" if "float64" in kinds else kinds[0]


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _applied(func: Any, args: Any, kwargs: dict[str, Any], place: Place) -> Any:
    name = func.__name__.strip("_")
    if name in _IN_PLACE and type(args[0]) is not NoisyTensor:
        # A plain tensor takes what noise makes of it: the numbers are known from here on.
        made = _applied(getattr(_torch(), _IN_PLACE[name]), args, kwargs, place)
        return args[0].copy_(_plain(made, place))
    handler = None if {"out", "where"} & set(kwargs) else _LINEAR.get(_IN_PLACE.get(name, name))
    if handler is not None:
        kind = _kind(args)
        found = handler(*map(_forms, args), **{k: _forms(v) for k, v in kwargs.items()})
        if found is not NotImplemented and name in _IN_PLACE:
            args[0].form = found
            return args[0]
        if found is not NotImplemented:
            return _wrapped(found, kind)
    plain = {key: _plain(value, place) for key, value in kwargs.items()}
    return func(*(_plain(value, place) for value in args), **plain)


def _add(one: Any, two: Any, *, alpha: Any = 1) -> Any:
    return np.add(one, two if alpha == 1 else np.multiply(two, alpha))


def _sub(one: Any, two: Any, *, alpha: Any = 1) -> Any:
    return np.subtract(one, two if alpha == 1 else np.multiply(two, alpha))


def _reduced(func: Any) -> Callable[..., Any]:
    def handler(form: Any, dim: Any = None, keepdim: Any = False, **more: Any) -> Any:  # noqa: FBT002
        axis = more.pop("axis", tuple(dim) if isinstance(dim, list) else dim)
        return NotImplemented if more else func(form, axis=axis, keepdims=keepdim)

    return handler


def _view(form: Any, *shape: Any) -> Any:
    if any(not isinstance(part, (int, tuple, list)) for part in shape):
        return NotImplemented
    wanted = shape[0] if len(shape) == 1 else shape
    return as_array(form).reshape(tuple(wanted) if isinstance(wanted, (tuple, list)) else wanted)


def _kept(form: Any, *args: Any, **options: Any) -> Any:
    """Copies and moves between devices keep the noise; other casts need numbers."""
    floats = {f"torch.{name}" for name in ("float32", "float64")}
    given = [str(value) for value in (*args, *options.values()) if value is not None]
    if any(text.startswith("torch.") and text not in floats for text in given):
        return NotImplemented
    return form


_LINEAR: dict[str, Callable[..., Any]] = {
    "add": _add,
    "radd": _add,
    "sub": _sub,
    "subtract": _sub,
    "rsub": lambda one, two: np.subtract(two, one),
    "mul": np.multiply,
    "multiply": np.multiply,
    "rmul": np.multiply,
    "div": np.true_divide,
    "truediv": np.true_divide,
    "true_divide": np.true_divide,
    "neg": np.negative,
    "matmul": np.matmul,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
    "sum": _reduced(np.sum),
    "mean": _reduced(np.mean),
    "stack": lambda parts, dim=0: np.stack(parts, axis=dim),
    "cat": lambda parts, dim=0: np.concatenate(parts, axis=dim),
    "getitem": lambda form, key: as_array(form)[key],
    "view": _view,
    "reshape": _view,
    "flatten": lambda form: _view(form, -1),
    "squeeze": lambda form, *dim: as_array(form).squeeze(*dim),
    "t": lambda form: as_array(form).transpose(),
    **dict.fromkeys(("clone", "detach", "cpu", "contiguous", "to", "double", "float"), _kept),
    "size": lambda form, *dim: as_array(form).shape[dim[0]] if dim else as_array(form).shape,
    "dim": lambda form: as_array(form).ndim,
    "numel": lambda form: as_array(form).size,
}
_IN_PLACE = {
    **{f"i{name}": name for name in ("add", "sub", "mul")},
    "itruediv": "div",
    **{f"{name}_": name for name in ("add", "sub", "mul", "div")},
}


def _operator(name: str) -> Callable[..., Any]:
    def method(self: NoisyTensor, *others: Any) -> Any:
        return _applied(getattr(_torch().Tensor, name), (self, *others), {}, here(2))

    method.__name__ = name
    return method


for _each in (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "neg", "matmul"),
    *("rmatmul", "pow", "abs", "gt", "ge", "lt", "le", "eq", "ne", "getitem"),
):
    setattr(NoisyTensor, f"__{_each}__", _operator(f"__{_each}__"))


# Drawing.


def torch_patches() -> list[tuple[Any, str, Any]]:
    """Stand-ins for torch's noise functions, if torch is loaded."""
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    found = [(torch, name, _drawing(name)) for name in _DRAWS]
    found += [(torch, name, _noted(getattr(torch, name), name)) for name in _NOT_FOLLOWED]
    found.append((torch, "manual_seed", _seeded))
    fills = [name for name in _FILLS if hasattr(torch.Tensor, name)]
    found += [(torch.Tensor, n, _noted(getattr(torch.Tensor, n), f"Tensor.{n}")) for n in fills]
    found += [(torch.Tensor, name, _filling(law)) for name, law in _FILLED.items()]
    laws = getattr(torch, "distributions", None)
    for name in () if laws is None else ("Laplace", "Normal", "Exponential", "Gumbel"):
        kind = getattr(laws, name)
        for method in ("sample", "rsample"):
            original = getattr(kind, method)
            found.append((kind, method, _sampling(name, original)))
    return found


_NOT_FOLLOWED = ("randint", "randperm", "multinomial", "poisson")
_FILLS = ("cauchy_", "geometric_", "bernoulli_", "log_normal_")


def _whole(rng: Any, like: Any, low: Any = None, high: Any = None) -> Any:
    """Whole numbers of a range that floats can hold, as seeds of loaders are."""
    low, high = (0, low) if high is None else (low, high)
    if high is None:
        largest = 2**24 if like.dtype is _torch().float32 else 2**53
        high = min(largest, largest if like.is_floating_point() else _torch().iinfo(like.dtype).max)
    return rng.integers(low, high, size=tuple(like.shape))


_FILLED: dict[str, Callable[..., Any]] = {
    "normal_": lambda rng, t, mean=0.0, std=1.0: mean + std * rng.standard_normal(tuple(t.shape)),
    "uniform_": lambda rng, t, low=0.0, high=1.0: low + (high - low) * rng.random(tuple(t.shape)),
    "exponential_": lambda rng, t, lambd=1.0: rng.standard_exponential(tuple(t.shape)) / lambd,
    "random_": _whole,
}


def _filling(law: Callable[..., Any]) -> Any:
    """A plain tensor filled with noise, as initial weights are: its numbers are known."""

    def fill(self: Any, *args: Any, generator: Any = None, **options: Any) -> Any:
        del generator
        options = {{"from": "low", "to": "high"}.get(k, k): v for k, v in options.items()}
        drawn = law(RecordingGenerator(CURRENT.get()), self, *args, **options)
        values = np.array(_plain(drawn, here(2)))
        return self.copy_(_torch().as_tensor(values))

    return fill


def _noted(original: Any, name: str) -> Any:
    def draw(*args: Any, **options: Any) -> Any:
        place = here(2)
        args = tuple(_plain(value, place) for value in args)
        CURRENT.get().puzzle(place, f"noise of torch.{name}() is not followed through tensors")
        return original(*args, **options)

    return draw


def _seeded(seed: int) -> Any:
    from dpverify.tracing.noise.standins import seeded_again  # noqa: PLC0415  # it imports this

    seeded_again(CURRENT.get(), seed)


def _shape(sizes: Any, options: dict[str, Any]) -> tuple[int, ...]:
    given = options.pop("size", None)
    sizes = sizes if given is None else (given,)
    if len(sizes) == 1 and not isinstance(sizes[0], int):
        sizes = tuple(sizes[0])
    return tuple(int(n) for n in sizes)


def _dtype(options: dict[str, Any], like: Any = None) -> str:
    given = options.get("dtype") or (_torch().get_default_dtype() if like is None else like.dtype)
    return _name(given)


def _drawing(name: str) -> Any:
    def draw(*args: Any, **options: Any) -> Any:
        if options.get("out") is not None:
            CURRENT.get().puzzle(here(2), f"torch.{name}(out=…) is not followed")
        return _DRAWS[name](RecordingGenerator(CURRENT.get()), *args, **options)

    return draw


def _randn(rng: Any, *sizes: Any, **options: Any) -> Any:
    return _wrapped(rng.standard_normal(_shape(sizes, options)), _dtype(options))


def _rand(rng: Any, *sizes: Any, **options: Any) -> Any:
    return _wrapped(rng.random(_shape(sizes, options)), _dtype(options))


def _randn_like(rng: Any, like: Any, **options: Any) -> Any:
    return _wrapped(rng.standard_normal(tuple(like.shape)), _dtype(options, like))


def _rand_like(rng: Any, like: Any, **options: Any) -> Any:
    return _wrapped(rng.random(tuple(like.shape)), _dtype(options, like))


def _normal(rng: Any, mean: Any = 0.0, std: Any = 1.0, size: Any = None, **options: Any) -> Any:
    tensors = [t for t in (mean, std) if isinstance(t, _torch().Tensor) or type(t) is NoisyTensor]
    like = tensors[0] if tensors else None
    shape = np.broadcast_shapes(*(tuple(t.shape) for t in tensors)) if size is None else tuple(size)
    drawn = rng.standard_normal(shape) * _forms(std)
    given = drawn if isinstance(mean, (int, float)) and mean == 0 else drawn + _forms(mean)
    return _wrapped(given, _dtype(options, like))


def _bernoulli(rng: Any, probabilities: Any, *args: Any, **options: Any) -> Any:
    del args, options
    fell = rng.random(tuple(probabilities.shape)) < _forms(probabilities)
    return _torch().as_tensor(np.asarray(fell)).to(probabilities.dtype)


_DRAWS: dict[str, Callable[..., Any]] = {
    "randn": _randn,
    "rand": _rand,
    "randn_like": _randn_like,
    "rand_like": _rand_like,
    "normal": _normal,
    "bernoulli": _bernoulli,
}
"""Each takes a generator of the run, and then what torch takes."""


def _sampling(name: str, original: Any) -> Any:
    """Draws of torch.distributions, whose code would call other noise functions."""

    def sample(self: Any, sample_shape: Any = ()) -> Any:
        if type(self).__name__ != name:
            return original(self, sample_shape)
        rng = RecordingGenerator(CURRENT.get())
        shape = (*sample_shape, *self.batch_shape)
        if name == "Exponential":
            drawn = rng.exponential(1.0, shape) / _forms(self.rate)
            return _wrapped(drawn, _name(self.rate.dtype))
        law = {"Laplace": "laplace", "Normal": "normal", "Gumbel": "gumbel"}[name]
        drawn = getattr(rng, law)(scale=1.0, size=shape) * _forms(self.scale)
        at = _forms(self.loc)
        return _wrapped(drawn + at if np.any(at != 0) else drawn, _name(self.loc.dtype))

    return sample
