"""Noise of torch, where torch is installed."""

# ruff: noqa: ANN401  # tensors

from typing import Any

import pytest

import dpverify as dpv
from dpverify.guarantees import GaussianDP, Guarantee, PureDP

torch = pytest.importorskip("torch")

ONE, MU = PureDP(epsilon=1.0), GaussianDP(mu=1.0)


def _traced(mechanism: Any, claim: Guarantee = MU) -> Any:
    left, right = torch.tensor([0.0, 1.0, 0.0]), torch.zeros(3)
    return dpv.trace(mechanism, left=left, right=right, claim=claim, confirm=False)


def _laplace(*shape: int) -> Any:
    return torch.distributions.Laplace(0.0, 1.0).sample(shape)


def _in_place(d: Any) -> Any:
    d += torch.randn(3)
    return d


def _descent(d: Any) -> Any:
    weights = torch.zeros(3)
    for _ in range(2):
        gradient = weights - d
        gradient = gradient / torch.clamp(gradient.norm(), min=1.0)
        weights = weights - 0.1 * (gradient + 2.0 * torch.randn(3))
    return weights


SHOWN: dict[str, tuple[Any, Guarantee]] = {
    "randn": (lambda d, _: d + torch.randn(3), MU),
    "randn_like, summed": (lambda d, _: d.sum() + torch.randn_like(d).sum() / 3**0.5, MU),
    "normal": (lambda d, _: torch.normal(0.0, 1.0, size=(3,)) + d, MU),
    "normal around data": (lambda d, _: torch.normal(d, 1.0), MU),
    "Normal": (lambda d, _: d + torch.distributions.Normal(0.0, 1.0).sample((3,)), MU),
    "Laplace": (lambda d, _: _laplace(3) + d, ONE),
    "Laplace around data": (lambda d, _: torch.distributions.Laplace(d, 1.0).sample(), ONE),
    "one number": (lambda d, _: (d.sum() + _laplace()).item(), ONE),
    "in place": (lambda d, _: _in_place(d), MU),
    "add_": (lambda d, _: d.add_(torch.randn(3)), MU),
    "relu afterwards": (lambda d, _: torch.relu(d + torch.randn(3)), MU),
    "as numpy": (lambda d, _: (d + torch.randn(3)).numpy(), MU),
    "stacked": (lambda d, _: torch.stack([d + torch.randn(3), torch.randn(3)]), MU),
    "coins": (lambda d, _: torch.bernoulli(0.5 + 0.1 * d), PureDP(epsilon=0.3)),
    "compared": (lambda d, _: d + _laplace(3) > 0.5, ONE),
    "descent": (lambda d, _: _descent(d), GaussianDP(mu=2**0.5)),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown(name: str) -> None:
    mechanism, claim = SHOWN[name]
    found = _traced(mechanism, claim)
    assert found.verdict == "shown", str(found)
    assert found.releases


CAUGHT: dict[str, tuple[Any, str]] = {
    "too little noise": (lambda d, _: d + 0.5 * torch.randn(3), "refuted"),
    "too little noise, in place": (lambda d, _: d.add_(torch.randn(3), alpha=0.5), "refuted"),
    "a sum for free": (lambda d, _: [d.sum(), torch.randn(2)], "leaking"),
    "scale from data": (lambda d, _: d + d.norm() * torch.randn(3) + torch.randn(3), "leaking"),
    "a fixed seed": (lambda d, _: (torch.manual_seed(0), d + torch.randn(3))[1], "leaking"),
    "filled": (lambda d, _: d + torch.empty(3).normal_(), "not understood"),
    "squared": (lambda d, _: d + torch.randn(3) ** 2, "not understood"),
    "whole numbers": (lambda d, _: d + torch.randint(0, 9, (3,)), "not understood"),
}


@pytest.mark.parametrize("name", CAUGHT)
def test_what_is_caught(name: str) -> None:
    mechanism, verdict = CAUGHT[name]
    found = _traced(mechanism)
    assert found.verdict == verdict, str(found)
    assert found.lines[0].startswith("test_torch.py:")


def test_nothing_stays_replaced() -> None:
    before = (torch.randn, torch.normal, torch.manual_seed, torch.Tensor.normal_)
    _traced(lambda d, _: d + torch.randn(3))
    assert (torch.randn, torch.normal, torch.manual_seed, torch.Tensor.normal_) == before
    assert isinstance(torch.randn(3), torch.Tensor)
