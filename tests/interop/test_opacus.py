"""Opacus' histories, as lists and from the real accountant."""

from types import SimpleNamespace

import pytest

import dpverify as dpv
from dpverify.interop import from_opacus

ADD = dpv.Relation.ADD_REMOVE


def test_an_opacus_history() -> None:
    history = [(1.0, 0.01, 100), (0.8, 0.02, 50)]
    expected = (
        dpv.Accountant(relation=ADD)
        .compose(dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.01), times=100)
        .compose(dpv.Subsampled(dpv.Gaussian(sigma=0.8), rate=0.02), times=50)
    )
    assert from_opacus(history).epsilon(1e-5) == expected.epsilon(1e-5)
    assert from_opacus(SimpleNamespace(history=history)).parts == expected.parts


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (3, "history=3 must list"),
        ([(1.0, 0.1)], "must be \\(noise multiplier"),
        ([(1.0, 2.0, 3)], "sample rate=2.0 must"),
        ([(1.0, 0.1, 0)], "steps=0 must"),
        ([(-1.0, 0.1, 2)], "noise multiplier=-1.0 must"),
    ],
)
def test_refuses_what_is_no_history(history: object, message: str) -> None:
    with pytest.raises(dpv.InvalidParameter, match=message):
        from_opacus(history)


@pytest.mark.slow
def test_the_real_accountant() -> None:
    accountants = pytest.importorskip("opacus.accountants")
    theirs = accountants.PRVAccountant()
    for _ in range(100):
        theirs.step(noise_multiplier=1.0, sample_rate=0.01)
    found = from_opacus(theirs)
    assert [part.times for part in found.parts] == [100]
    # Theirs is an estimate with an error of at most 0.01 on each side.
    assert (
        found.epsilon(1e-5).lower - 0.02
        <= theirs.get_epsilon(1e-5)
        <= found.epsilon(1e-5).upper + 0.02
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Opacus warns of its own settings, torch of its own calls
@pytest.mark.parametrize("kind", ["rdp", "prv"])
def test_a_real_training(kind: str) -> None:
    """Two epochs of a private training: every step of its engine is in the history."""
    torch, opacus = pytest.importorskip("torch"), pytest.importorskip("opacus")
    inputs, labels = torch.zeros(40, 2), torch.zeros(40, 1)
    model = torch.nn.Linear(2, 1)
    engine = opacus.PrivacyEngine(accountant=kind)
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(inputs, labels), batch_size=8
        ),
        noise_multiplier=1.5,
        max_grad_norm=1.0,
    )
    for _ in range(2):
        for batch, wanted in loader:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(batch), wanted).backward()
            optimizer.step()
    step = dpv.Subsampled(dpv.Gaussian(sigma=1.5), rate=0.2)
    found = from_opacus(engine.accountant)
    assert found.parts == dpv.Accountant(relation=ADD).compose(step, times=10).parts
    assert found.epsilon(1e-5).lower <= engine.get_epsilon(delta=1e-5) + 0.02
