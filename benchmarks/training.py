# ruff: noqa: ANN401
"""One Opacus model on scikit-learn's digits, audited end to end: as it should be, and with bugs.

Needs the extra `torch`. `python benchmarks/training.py` trains a small network four
times: correctly; with noise in the first step of each epoch only; with the batch clipped instead
of its samples; on shuffled epochs instead of Poisson samples. Each time the sampler, the steps and
canaries are audited against one and the same accounting.
"""

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np
import torch
from opacus import PrivacyEngine
from sklearn.datasets import load_digits

import dpverify as dpv
from dpverify.auditing.training import (
    GradientCanaries,
    Releases,
    StepRecorder,
    mislabeled_canaries,
)

RECORDS, BATCH, CLIP, SIGMA, EPOCHS, CANARIES = 1280, 64, 1.0, 0.8, 4, 400
RATE = BATCH / RECORDS
BUGS = ("none", "noise once per epoch", "batch clipped", "shuffled")

warnings.filterwarnings("ignore")
torch.set_num_threads(1)


def digits() -> tuple[Any, Any]:
    found = load_digits()
    return (
        torch.as_tensor(found.data / 16.0, dtype=torch.float32),
        torch.as_tensor(found.target),
    )


def clip_the_batch(optimizer: Any) -> None:
    """The sum of raw gradients, clipped as one: what Opacus must not do."""

    def clip_and_accumulate() -> None:
        sums = [g.sum(dim=0) for g in optimizer.grad_samples]
        norm = torch.cat([s.reshape(-1) for s in sums]).norm()
        factor = min(1.0, float(optimizer.max_grad_norm / (norm + 1e-6)))
        for p, total in zip(optimizer.params, sums, strict=True):
            p.summed_grad = total * factor

    optimizer.clip_and_accumulate = clip_and_accumulate


class Training:
    """A model, its optimizer and its loader, made private by Opacus, with one bug or none."""

    def __init__(self, data: Any, bug: str, seed: int) -> None:
        torch.manual_seed(seed)
        self.bug = bug
        inner = torch.nn.Sequential(
            torch.nn.Linear(64, 32), torch.nn.Tanh(), torch.nn.Linear(32, 10)
        )
        self.model, self.optimizer, self.loader = PrivacyEngine().make_private(
            module=inner,
            optimizer=torch.optim.SGD(inner.parameters(), lr=1.0),
            data_loader=torch.utils.data.DataLoader(data, batch_size=BATCH, shuffle=True),
            noise_multiplier=SIGMA,
            max_grad_norm=CLIP,
            poisson_sampling=bug != "shuffled",
        )
        if bug == "batch clipped":
            clip_the_batch(self.optimizer)

    def run(self, before_step: Any = lambda: None) -> None:
        for _ in range(EPOCHS):
            for step, (x, y) in enumerate(self.loader):
                self.optimizer.zero_grad()
                torch.nn.functional.cross_entropy(self.model(x), y).backward()
                before_step()
                if self.bug == "noise once per epoch":
                    self.optimizer.noise_multiplier = SIGMA if step == 0 else 0.0
                self.optimizer.step()


def accounting() -> Any:
    step = dpv.Subsampled(dpv.Gaussian(sigma=SIGMA * CLIP, l2_sensitivity=CLIP), rate=RATE)
    spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)
    return step, spent.compose(step, times=EPOCHS * RECORDS // BATCH)


def audited(bug: str, *, seed: int, level: float) -> dict[str, Any]:
    x, y = digits()
    data = torch.utils.data.TensorDataset(x[:RECORDS], y[:RECORDS])
    step, spent = accounting()
    start = time.process_time()

    sampler = dpv.audit_batches(
        Training(data, bug, seed).loader, claimed=step, epochs=EPOCHS, level=level
    )

    watched = Training(data, bug, seed)
    recorder = StepRecorder(watched.optimizer, watched.model, seed=seed)
    watched.run(recorder.insert)
    steps = recorder.audit(noise_multiplier=SIGMA, clip=CLIP, level=level)
    with torch.no_grad():
        right = (watched.model(x[RECORDS:]).argmax(dim=1) == y[RECORDS:]).float().mean()

    def gradients(included: Any, rng: np.random.Generator) -> Any:
        training = Training(data, bug, seed + 1)
        canaries = GradientCanaries(training.model, number=CANARIES, norm=100 * CLIP, seed=seed)
        scores = np.zeros(CANARIES)

        def watch(released: Any) -> None:
            scores[:] += canaries.alignment_scores(released)

        Releases(training.optimizer, training.model, watch)
        inside = np.flatnonzero(included)
        training.run(
            lambda: canaries.insert(training.model, inside[rng.random(len(inside)) < RATE])
        )
        return scores

    held = mislabeled_canaries(x[RECORDS:], y[RECORDS:], number=CANARIES, classes=10, seed=seed)

    def records(included: Any, rng: np.random.Generator) -> Any:
        training = Training(held.added_to(data, included), bug, int(rng.integers(2**31)))
        training.run()
        return held.loss_scores(training.model)

    runs = {
        name: dpv.audit_one_run(train, canaries=CANARIES, claim=spent, level=level, seed=seed)
        for name, train in (("gradient canaries", gradients), ("mislabeled canaries", records))
    }
    return {
        "bug": bug,
        "sampler": sampler,
        "steps": steps,
        **runs,
        "accuracy": float(right),
        "seconds": time.process_time() - start,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--level", type=float, default=0.001)
    told = parser.parse_args()
    _, spent = accounting()
    if not told.json:
        print(f"accounted for: ε = {spent.epsilon(delta=1e-5)} at δ = 1e-5")
    for bug in BUGS:
        found = audited(bug, seed=told.seed, level=told.level)
        kinds = [name for name in found if name not in {"bug", "accuracy", "seconds"}]
        if told.json:
            print(json.dumps({"bug": bug} | {kind: found[kind].refuted for kind in kinds}))
            continue
        print(f"\n== {bug}: accuracy {found['accuracy']:.3f}, {found['seconds']:.0f} s of CPU")
        for kind in kinds:
            print(f"-- {kind}\n{found[kind]}", flush=True)


if __name__ == "__main__":
    main()
