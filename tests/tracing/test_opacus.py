"""A private step of Opacus as it is, where Opacus is installed."""

# ruff: noqa: ANN401  # models, optimizers and tensors

from collections.abc import Callable
from typing import Any

import pytest

import dpverify as dpv

torch = pytest.importorskip("torch")
opacus = pytest.importorskip("opacus")
optimizers = pytest.importorskip("opacus.optimizers")

pytestmark = pytest.mark.filterwarnings("ignore")


def _records(*last: list[float]) -> Any:
    rows = torch.tensor([[1.0, 0.0], [0.0, 9.0], *last])
    return rows, torch.ones(len(rows))


WHOLE, LESS, OTHER = _records([0.0, 9.0]), _records(), _records([9.0, 0.0])


def _epoch(model: Any, optimizer: Any, batches: Any) -> Any:
    for x, y in batches:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x).squeeze(-1), y).backward()
        optimizer.step()
    return model._module.weight.detach().numpy()  # the model that is private


def _steps(number: int, noise: float = 1.0) -> Callable[[Any, Any], Any]:
    def fit(data: Any, _: Any) -> Any:
        model = opacus.GradSampleModule(torch.nn.Linear(2, 1, bias=False))
        private = optimizers.DPOptimizer(
            torch.optim.SGD(model.parameters(), lr=0.1),
            noise_multiplier=noise,
            max_grad_norm=1.0,
            expected_batch_size=3,
        )
        return _epoch(model, private, [data] * number)

    return fit


@pytest.mark.parametrize(
    ("number", "noise", "mu", "verdict"),
    [
        (1, 1.0, 1.0, "shown"),
        (2, 1.0, 2**0.5, "shown"),
        (2, 1.0, 1.0, "overspent"),
        (1, 0.99, 1.0, "overspent"),
    ],
)
def test_steps_of_the_optimizer(number: int, noise: float, mu: float, verdict: str) -> None:
    """The clipped gradient of one record moves the sum by 1, which noise of scale σ hides."""
    claim = dpv.GaussianDP(mu=mu)
    found = dpv.trace(_steps(number, noise), left=WHOLE, right=LESS, claim=claim, confirm=False)
    assert found.verdict == verdict, str(found)
    assert [r.shift for r in found.releases] == pytest.approx([1.0] * number, rel=1e-6)
    assert {r.source for r in found.releases} == {"optimizer.step()"}


def test_the_engine_with_a_random_sample() -> None:
    def fit(data: Any, _: Any) -> Any:
        model = torch.nn.Linear(2, 1, bias=False)
        descent = torch.optim.SGD(model.parameters(), lr=0.1)
        dataset = torch.utils.data.TensorDataset(*data)
        loader = torch.utils.data.DataLoader(dataset, batch_size=3)
        made = opacus.PrivacyEngine().make_private(
            module=model,
            optimizer=descent,
            data_loader=loader,
            noise_multiplier=1.0,
            max_grad_norm=1.0,
        )
        return _epoch(*made)

    claim = dpv.GaussianDP(mu=2.0)
    found = dpv.trace(fit, left=WHOLE, right=OTHER, claim=claim, confirm=False)
    assert found.verdict == "shown", str(found)
