"""Accuracy, or R², of a linear model that Opacus trains by DP-SGD: add/remove, its own accountant.

Epochs, batches and clipping norm are fixed in advance, whatever the budget; the step size is 4
for classes and 1 for squares, or what the setting asks for.
"""

import warnings
from typing import Any

import measuring
import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from splits import explained, splits

EPOCHS, BATCH, CLIP, RATE, SQUARES_RATE = 20, 1024, 1.0, 4.0, 1.0


def solve(case: dict[str, Any], setting: dict[str, Any]) -> measuring.Answer:
    """One accuracy a repeat, on the records that were not trained on."""
    torch.set_num_threads(1)
    classes = case.get("classes", 2)
    rate = setting.get("rate", RATE if classes else SQUARES_RATE)
    found, noise = [], 0.0
    for seed, (rows, targets, test, truth) in splits(case):
        batch = min(BATCH, len(rows) // 4)
        noise = noise or multiplier(case, batch / len(rows))
        model = fitted(rows, numbered(targets, classes), classes, (batch, noise, rate), seed)
        with torch.no_grad():
            scores = model(torch.tensor(test, dtype=torch.float32)).numpy()
        found.append(judged(scores, numbered(truth, classes), classes))
    return {"accuracies": found}


def numbered(targets: np.ndarray, classes: int) -> np.ndarray:
    """Classes from 0 on, where two are given as −1 and 1."""
    return (targets > 0).astype(np.int64) if classes == 2 else targets


def judged(scores: np.ndarray, truth: np.ndarray, classes: int) -> float:
    if classes == 0:
        return explained(truth, scores[:, 0])
    chosen = scores[:, 0] > 0 if classes == 2 else scores.argmax(axis=1)
    return float((chosen == truth).mean())


def multiplier(case: dict[str, Any], share: float) -> float:
    """By the accountant that its engine has by default, to a hundredth of ε."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: float = get_noise_multiplier(
            target_epsilon=case["epsilon"],
            target_delta=case["delta"],
            sample_rate=share,
            epochs=EPOCHS,
            accountant="prv",
            epsilon_tolerance=0.01 * case["epsilon"],
        )
    return found


def fitted(
    rows: np.ndarray,
    targets: np.ndarray,
    classes: int,
    setting: tuple[int, float, float],
    seed: int,
) -> torch.nn.Module:
    batch, noise, rate = setting
    torch.manual_seed(seed)
    model = torch.nn.Linear(rows.shape[1], classes if classes > 2 else 1)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    given = torch.tensor(targets, dtype=torch.int64 if classes > 2 else torch.float32)
    data = torch.utils.data.TensorDataset(torch.tensor(rows, dtype=torch.float32), given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, steps, batches = PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=rate),
            data_loader=torch.utils.data.DataLoader(data, batch_size=batch),
            noise_multiplier=noise,
            max_grad_norm=CLIP,
        )
        loss = LOSSES[min(classes, 3)]()
        for _ in range(EPOCHS):
            for x, y in batches:
                steps.zero_grad()
                scores = model(x)
                loss(scores if classes > 2 else scores[:, 0], y).backward()
                steps.step()
    return model


LOSSES = {
    0: torch.nn.MSELoss,
    2: torch.nn.BCEWithLogitsLoss,
    3: torch.nn.CrossEntropyLoss,
}


if __name__ == "__main__":
    measuring.REPEATS = 1
    measuring.serve(solve)
