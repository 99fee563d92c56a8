"""Canaries for a PyTorch training loop: records to insert, and scores of how they show.

Three kinds: records of noise (`input_canaries`), real records with a wrong label
(`mislabeled_canaries`), and gradients (`GradientCanaries`), which are the sharpest. Three scores,
larger for what looks included: the loss of the trained model, the alignment of what each step
released with a canary's gradient, and the known direction in which a gradient canary moves the
weights. Validity of an audit never depends on these; power does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.arrays import Floats, Mask
from dpverify.errors import InvalidParameter, NotSupported, check_count, check_positive, check_seed


def torch_or_refusal() -> Any:  # noqa: ANN401  # torch has types where it is installed
    """Import PyTorch, or raise with a sentence on how to install it."""
    try:
        import torch  # noqa: PLC0415  # an extra
    except ImportError as missing:
        raise NotSupported(
            "canaries for PyTorch need torch: pip install 'dpverify[torch]'"
        ) from missing
    return torch


@dataclass(frozen=True, slots=True, eq=False)
class RecordCanaries:
    """Records to add to the data of a PyTorch model: `inputs` and `labels`, one row a canary."""

    inputs: Any
    labels: Any

    def __len__(self) -> int:
        return len(self.labels)

    def added_to(self, dataset: Any, included: Mask) -> Any:  # noqa: ANN401
        """The dataset, of pairs (input, label), followed by the included canaries."""
        torch = torch_or_refusal()
        inside = torch.as_tensor(np.flatnonzero(_mask(included, len(self))))
        own = torch.utils.data.TensorDataset(self.inputs[inside], self.labels[inside])
        return torch.utils.data.ConcatDataset([dataset, own])

    def losses(self, model: Any, loss: Any = None) -> Any:  # noqa: ANN401
        torch = torch_or_refusal()
        measure = loss or torch.nn.functional.cross_entropy
        return measure(model(self.inputs), self.labels, reduction="none")

    def loss_scores(self, model: Any, loss: Any = None) -> Floats:  # noqa: ANN401
        """Minus the loss of each canary; `loss` has the signature of cross_entropy, the default."""
        torch = torch_or_refusal()
        training, _ = model.training, model.eval()
        with torch.no_grad():
            scores = -self.losses(model, loss)
        model.train(training)
        return np.asarray(scores.detach().cpu().numpy(), dtype=np.float64)

    def gradients(self, model: Any, loss: Any = None) -> Floats:  # noqa: ANN401
        """The gradient of each canary's loss at the current model: one row a canary."""
        torch = torch_or_refusal()
        weights = [p for p in model.parameters() if p.requires_grad]
        rows = []
        for one in range(len(self)):
            single = RecordCanaries(self.inputs[one : one + 1], self.labels[one : one + 1])
            with without_hooks(model):
                found = torch.autograd.grad(single.losses(model, loss).sum(), weights)
            rows.append(torch.cat([g.reshape(-1) for g in found]).cpu().numpy())
        return np.asarray(np.stack(rows), dtype=np.float64)

    def alignment_scores(self, model: Any, released: Any, loss: Any = None) -> Floats:  # noqa: ANN401
        """⟨released gradient, canary's direction⟩ for one step; add these up over steps.

        `released` is the noisy gradient of the step, flat, in the order of `model.parameters()`.
        """
        rows = self.gradients(model, loss)
        norms = np.linalg.norm(rows, axis=1)
        found: Floats = rows @ np.asarray(released, dtype=np.float64) / np.maximum(norms, 1e-300)
        return found


def input_canaries(
    like: Any,  # noqa: ANN401
    *,
    number: int,
    classes: int,
    scale: float = 1.0,
    seed: int = 0,
) -> RecordCanaries:
    """Records of Gaussian noise, shaped as one row of the tensor `like`, with random labels."""
    torch = torch_or_refusal()
    rng = _generator(number, classes, seed)
    check_positive("scale", scale)
    inputs = scale * rng.normal(size=(number, *like.shape[1:]))
    labels = rng.integers(0, classes, number)
    return RecordCanaries(torch.as_tensor(inputs, dtype=like.dtype), torch.as_tensor(labels))


def mislabeled_canaries(
    inputs: Any,  # noqa: ANN401
    labels: Any,  # noqa: ANN401
    *,
    number: int,
    classes: int,
    seed: int = 0,
) -> RecordCanaries:
    """Canaries from `number` of the records, relabeled wrongly; do not train on these otherwise."""
    torch = torch_or_refusal()
    rng = _generator(number, classes, seed)
    if number > len(inputs):
        raise InvalidParameter(f"number={number!r} must not exceed the {len(inputs)} records")
    chosen = torch.as_tensor(rng.choice(len(inputs), number, replace=False))
    turned = torch.as_tensor(rng.integers(1, classes, number))
    return RecordCanaries(inputs[chosen], (labels[chosen] + turned) % classes)


def _generator(number: int, classes: int, seed: int) -> np.random.Generator:
    check_count("number", number)
    check_count("classes", classes)
    if classes < 2:
        raise InvalidParameter(f"classes={classes!r} must be at least 2")
    check_seed(seed)
    return np.random.default_rng(seed)


class GradientCanaries:
    """Gradients of norm `norm` in random directions; `insert` adds them to a batch of Opacus.

    Call `insert(model, members)` after `loss.backward()` and before `optimizer.step()`, with the
    numbers of the canaries in this batch. Directions are drawn once, from the seed.
    """

    def __init__(self, model: Any, *, number: int, norm: float, seed: int = 0) -> None:  # noqa: ANN401
        check_count("number", number)
        check_positive("norm", norm)
        check_seed(seed)
        size = sum(p.numel() for p in model.parameters() if p.requires_grad)
        rows = np.random.default_rng(seed).normal(size=(number, size))
        self.norm = float(norm)
        self.directions: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def __len__(self) -> int:
        return len(self.directions)

    def insert(self, model: Any, members: Any) -> None:  # noqa: ANN401
        """Add the gradients of the included canaries to the batch, each as one more sample."""
        insert_gradients(model, self.norm * self.directions[np.asarray(members, dtype=np.int64)])

    def alignment_scores(self, released: Any) -> Floats:  # noqa: ANN401
        """⟨released gradient, direction⟩ of one step; add these up over steps."""
        found: Floats = self.directions @ np.asarray(released, dtype=np.float64)
        return found

    def direction_scores(self, before: Any, after: Any) -> Floats:  # noqa: ANN401
        """How far the weights moved against each direction, as gradient descent moves them."""
        moved = np.asarray(before, dtype=np.float64) - np.asarray(after, dtype=np.float64)
        return self.alignment_scores(moved)


def insert_gradients(model: Any, rows: Floats) -> None:  # noqa: ANN401
    """Append rows to the per-sample gradients (`grad_sample`) that Opacus computed."""
    torch = torch_or_refusal()
    at = 0
    for p in model.parameters():
        if not p.requires_grad:
            continue
        samples = getattr(p, "grad_sample", None)
        if samples is None or isinstance(samples, list):
            raise InvalidParameter(
                f"model={type(model).__name__}(…) must have gradients of samples: Opacus, after "
                "backward()"
            )
        part = torch.as_tensor(rows[:, at : at + p.numel()], dtype=samples.dtype)
        p.grad_sample = torch.cat([samples, part.reshape(-1, *p.shape).to(samples.device)])
        at += p.numel()


@contextmanager
def without_hooks(model: Any) -> Iterator[None]:  # noqa: ANN401
    """Switch Opacus's per-sample gradients off, for computations that are not part of training."""
    watched = bool(getattr(model, "hooks_enabled", False))
    if watched:
        model.disable_hooks()
    try:
        yield
    finally:
        if watched:
            model.enable_hooks()


def _mask(included: Mask, number: int) -> Mask:
    inside = np.asarray(included)
    if inside.dtype != np.bool_ or inside.shape != (number,):
        raise InvalidParameter(f"included must be {number} bools, one a canary")
    return inside
