"""Accuracy of a linear model that Opacus trains by DP-SGD: add/remove, its own accountant.

Epochs, batches, clipping norm and rate are fixed in advance, whatever the budget.
"""

import warnings
from typing import Any

import measuring
import numpy as np
import torch
from opacus import PrivacyEngine

EPOCHS, BATCH, CLIP, RATE = 10, 1024, 1.0, 4.0


def solve(case: dict[str, Any], setting: dict[str, Any]) -> measuring.Answer:  # noqa: ARG001
    """One accuracy a repeat, on the records that were not trained on."""
    torch.set_num_threads(1)
    data = np.load(case["file"])
    rows = torch.tensor(data["rows"], dtype=torch.float32)
    labels = torch.tensor(data["labels"] > 0, dtype=torch.float32)
    cut = int(0.8 * len(labels))
    found = []
    for seed, order in enumerate(data["orders"]):
        model = fitted(rows[order[:cut]], labels[order[:cut]], case, seed)
        with torch.no_grad():
            right = (model(rows[order[cut:]])[:, 0] > 0) == (labels[order[cut:]] > 0)
        found.append(float(right.float().mean()))
    return {"accuracies": found}


def fitted(
    rows: torch.Tensor, labels: torch.Tensor, case: dict[str, Any], seed: int
) -> torch.nn.Module:
    torch.manual_seed(seed)
    model = torch.nn.Linear(rows.shape[1], 1)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    batches = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(rows, labels), batch_size=min(BATCH, len(rows) // 4)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, steps, batches = PrivacyEngine().make_private_with_epsilon(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=RATE),
            data_loader=batches,
            target_epsilon=case["epsilon"],
            target_delta=case["delta"],
            epochs=EPOCHS,
            max_grad_norm=CLIP,
        )
        loss = torch.nn.BCEWithLogitsLoss()
        for _ in range(EPOCHS):
            for x, y in batches:
                steps.zero_grad()
                loss(model(x)[:, 0], y).backward()
                steps.step()
    return model


if __name__ == "__main__":
    measuring.REPEATS = 1
    measuring.serve(solve)
