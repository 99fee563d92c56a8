"""Progress on standard error depends on how fast a machine is; these tests do not."""

import pytest

from dpverify import waiting


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_PATIENCE", 3600.0)
