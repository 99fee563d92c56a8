"""Draw the pictures of docs/concepts.md into docs/pictures/, from the library itself.

python docs/draw.py
"""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import dpverify as dpv
from dpverify.auditing import Progress

FOLDER = Path(__file__).with_name("pictures")
LEFT, RIGHT, SOFT = "#0b4f8a", "#b4420f", "#767676"
STYLE = {
    "svg.hashsalt": "dpverify",
    "svg.fonttype": "none",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.figsize": (7.0, 3.2),
    "figure.constrained_layout.use": True,
    "savefig.facecolor": "white",
}


def pair(axes: Axes) -> None:
    x = np.linspace(-5, 6, 600)
    for center, color, name in ((0, LEFT, "without you"), (1, RIGHT, "with you")):
        axes.plot(x, np.exp(-abs(x - center)) / 2, color=color, label=name)
    axes.set(xlabel="output", ylabel="density")
    axes.annotate("never more than a factor e^ε apart", (3.0, 0.1), color=SOFT)
    axes.legend(frameon=False)


def profile(axes: Axes) -> None:
    epsilons = np.linspace(0, 3, 61)
    for name, part, color in (
        ("Laplace noise, ε = 1", dpv.Laplace(scale=1.0), LEFT),
        ("Gaussian noise, σ = 2", dpv.Gaussian(sigma=2.0), RIGHT),
    ):
        spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(part)
        deltas = [max(spent.delta(float(e)).upper, 1e-12) for e in epsilons]
        axes.plot(epsilons, deltas, color=color, label=name)
    axes.set(xlabel="ε", ylabel="smallest δ", yscale="log", ylim=(1e-7, 1))
    axes.legend(frameon=False)


def bracket(axes: Axes) -> None:
    runs = [1, 2, 5, 10, 20, 50, 100, 200]
    tables = [
        dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)
        .compose(dpv.PureDP(0.1), times=n)
        .compare(delta=1e-6)
        for n in runs
    ]
    for rule, color, line in (
        ("basic", SOFT, ":"),
        ("advanced", RIGHT, "--"),
        ("optimal", LEFT, "-"),
    ):
        axes.plot(runs, [table[rule].upper for table in tables], line, color=color, label=rule)
    lower = [table["optimal"].bracket.lower for table in tables]
    axes.fill_between(runs, lower, [table["optimal"].upper for table in tables], color=LEFT)
    axes.set(xlabel="runs, each ε = 0.1", ylabel="ε at δ = 10⁻⁶", xscale="log", yscale="log")
    axes.legend(frameon=False, title="rule")


def level(axes: Axes) -> None:
    for scale, color, name in ((1.0, LEFT, "as claimed"), (0.6, RIGHT, "too little noise")):
        told: list[Progress] = []

        def noisy(data: Any, rng: Any, scale: float = scale) -> Any:
            return sum(data) + rng.laplace(scale=scale)

        dpv.audit(
            noisy,
            left=[0],
            right=[1],
            claim=dpv.PureDP(1.0),
            level=0.01,
            seed=4,
            samples=4000,
            method="anytime",
            progress=told.append,
        )
        wealth = [float(np.exp(now.log_wealth)) for now in told]
        axes.step([now.samples for now in told], wealth, color=color, label=name)
    axes.axhline(100, color=SOFT, linestyle=":")
    axes.annotate("1 / level: refuted", (60, 120), color=SOFT)
    axes.set(xlabel="draws on each side", ylabel="wealth of the bets", xscale="log", yscale="log")
    axes.legend(frameon=False)


def witness(axes: Axes) -> None:
    rng = np.random.default_rng(7)
    bins = np.linspace(-3, 4, 57)
    for center, color, name in ((0, LEFT, "left"), (1, RIGHT, "right")):
        draws = center + rng.laplace(scale=0.5, size=20_000)
        axes.hist(draws, bins=bins, histtype="step", color=color, label=name, density=True)
    axes.axvspan(1.2, 4, color=SOFT, alpha=0.2, linewidth=0)
    axes.annotate("the event: output ≥ 1.2,\nover e times as likely", (1.9, 0.6))
    axes.set(xlabel="output", ylabel="share of draws")
    axes.legend(frameon=False, loc="upper left")


PICTURES = {each.__name__: each for each in (pair, profile, bracket, level, witness)}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with mpl.rc_context(STYLE):
        for name, draw in PICTURES.items():
            figure, axes = plt.subplots()
            draw(axes)
            figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    main()
