"""Record what an Opacus optimizer releases in each step, and what it should have summed."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.arrays import Floats
from dpverify.auditing.training.canaries import insert_gradients, torch_or_refusal
from dpverify.auditing.training.steps import StepsVerdict, audit_steps
from dpverify.errors import InvalidParameter, check_seed


class Releases:
    """Calls `watch(gradient)` with what an Opacus optimizer releases in each step.

    The noisy sum of gradients, flat, in the order of the model's parameters, before it is divided
    by the size of a batch. Whatever else watches the optimizer, as its accountant, still does.
    """

    def __init__(self, optimizer: Any, model: Any, watch: Callable[[Floats], None]) -> None:  # noqa: ANN401
        if not hasattr(optimizer, "attach_step_hook"):
            raise InvalidParameter(
                f"optimizer={type(optimizer).__name__}(…) must be one of Opacus, as make_private "
                "returns it"
            )
        self._torch = torch_or_refusal()
        self._weights = [p for p in model.parameters() if p.requires_grad]
        self._earlier, self._watch = optimizer.step_hook, watch
        optimizer.attach_step_hook(self._told)

    def _told(self, optimizer: Any) -> None:  # noqa: ANN401
        """Step hook, after the noise and before the weights move: undo the division."""
        if self._earlier is not None:
            self._earlier(optimizer)
        flat = self._torch.cat([p.grad.reshape(-1) for p in self._weights])
        divided = 1.0
        if optimizer.loss_reduction == "mean":
            divided = float(optimizer.expected_batch_size * optimizer.accumulated_iterations)
        self._watch(divided * np.asarray(flat.detach().cpu().numpy(), dtype=np.float64))


def refuse_virtual_steps(model: Any) -> None:  # noqa: ANN401
    """Raise if a batch is split into virtual steps, as only its last part would be seen.

    Opacus keeps the sum of the earlier parts in `summed_grad`; `optimizer.zero_grad()` forgets it.
    """
    if any(getattr(p, "summed_grad", None) is not None for p in model.parameters()):
        raise InvalidParameter(
            "insert() must come after optimizer.zero_grad(), in batches of one virtual step each: "
            "the optimizer holds gradients of earlier ones"
        )


_OPACUS = 1e-6  # what Opacus adds to norms, lest it divide by 0


def clipped_by_opacus(samples: Floats, clip: float) -> Floats:
    """Gradients as Opacus clips them: scaled by C/(norm + 1e-6), but never up.

    That is up to 1e-6 shorter than C each, so within what is claimed; but of a large batch and a
    small C the sum shows the difference, and what is compared with it must have it too.
    """
    norms = np.linalg.norm(samples, axis=1, keepdims=True)
    clipped: Floats = samples * np.minimum(1.0, clip / (norms + _OPACUS))
    return clipped


class StepRecorder:
    """Watches an Opacus optimizer, inserts a canary into half of its steps, and audits them.

    The canary's gradient is the worst one for whoever clips wrongly: against the sum of the
    batch, and huge. Call `insert()` after `loss.backward()`, train, then `audit()`.

    The model is trained with the canary in it: audit a copy of the training, not the one that is
    released. Batches of more than one virtual step are refused.
    """

    def __init__(self, optimizer: Any, model: Any, *, seed: int = 0) -> None:  # noqa: ANN401
        self._torch = torch_or_refusal()
        check_seed(seed)
        self._coins = np.random.default_rng(seed)
        self._model, self._optimizer = model, optimizer
        self._released: list[Floats] = []
        self._others: list[Floats] = []
        self._canary: list[Floats] = []
        self._included: list[bool] = []
        Releases(optimizer, model, self._released.append)

    def __len__(self) -> int:
        return len(self._released)

    def insert(self) -> None:
        """Toss a coin, and insert the canary into this batch if it shows heads."""
        refuse_virtual_steps(self._model)
        samples = self._samples()
        raw = samples.sum(axis=0)
        if not raw.any():
            raw = np.ones(samples.shape[1])
        clip = float(self._optimizer.max_grad_norm)
        clipped = clipped_by_opacus(samples, clip)
        canary = -raw / np.linalg.norm(raw) * 100.0 * max(clip, float(np.linalg.norm(raw)))
        inside = bool(self._coins.random() < 0.5)
        self._others.append(clipped.sum(axis=0))
        self._canary.append(canary)
        self._included.append(inside)
        if inside:
            insert_gradients(self._model, canary[None])

    def audit(self, *, noise_multiplier: float, clip: float, level: float = 0.001) -> StepsVerdict:
        """Audit whether the recorded steps match the accounting; see `audit_steps`."""
        if not len(self) == len(self._included) > 0:
            raise InvalidParameter(
                f"insert() must be called once in each step: {len(self._included)} calls, "
                f"{len(self)} steps"
            )
        return audit_steps(
            np.stack(self._released),
            np.stack(self._others),
            canary=np.stack(self._canary),
            included=np.array(self._included),
            clip=clip,
            noise_multiplier=noise_multiplier,
            level=level,
        )

    def _samples(self) -> Floats:
        parts = [p.grad_sample for p in self._model.parameters() if p.requires_grad]
        missing = sum(part is None or isinstance(part, list) for part in parts)
        if missing:
            raise InvalidParameter(
                f"insert() must follow backward(), once a step: {missing} of {len(parts)} "
                "parameters have no gradients of samples"
            )
        rows = self._torch.cat([part.reshape(len(part), -1) for part in parts], dim=1)
        return np.asarray(rows.detach().cpu().numpy(), dtype=np.float64)
