"""Progress on standard error depends on how fast a machine is; these tests do not."""

import pytest

from dpverify.cli import output


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_PATIENCE", 3600.0)
