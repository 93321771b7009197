"""What is measured while a policy learns: rows of `progress.csv`, TensorBoard's curves, and a picture of them."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from torch.utils.tensorboard import SummaryWriter

from experiments.files import write_atomically

CSV = "progress.csv"
METRICS = {
    "games/margin": "mean margin of the training games that ended, in points, against whoever was drawn; in Wall "
    "without the luck of draws",
    "games/wins": "share of those games with a margin above 0",
    "games/ended": "how many ended",
    "policy/entropy": "mean entropy of the action probabilities, in nats; it falls as the policy makes up its mind",
    "policy/approx_kl": "how far the last epoch's policy was from the one that played, in nats; above 0.05 is much",
    "policy/clip_fraction": "share of decisions whose probability changed by more than `clip_range`",
    "policy/explained_variance": "how much of the returns' variance the critic explains; 1 is all, 0 none",
    "policy/value_loss": "mean squared error of the critic, in scaled rewards",
    "policy/learning_rate": "Adam's learning rate",
    "pool/size": "number of agents in the pool",
    "pool/hardest": "the learner's share of wins against the agent of the pool that it beats least",
    "time/decisions_per_second": "decisions of the learner a second, over the update and what came with it",
    "time/environment": "share of time in the games, the other players' thinking included",
    "time/rollout": "share of time in which the learner chose its actions",
    "time/learning": "share of time in which the network was fitted",
    "time/evaluation": "share of time in which fixed opponents were played and files were written",
    "time/seconds": "seconds of training so far, in all sessions of the run",
}


def evaluation_metrics(opponents: Sequence[str]) -> dict[str, str]:
    """The metrics of the fixed opponents."""
    margins = {f"evaluation/margin_{name}": f"mean margin per deal against {name}, in points" for name in opponents}
    return margins | {f"evaluation/wins_{name}": f"share of games won against {name}" for name in opponents}


class Curves:
    """Writes one row for each update, to `progress.csv` and for TensorBoard.

    Args:
        folder: the run's folder.
        names: of the metrics.
        decisions: where training goes on; rows and points that are later are removed.
    """

    def __init__(self, folder: Path, names: Sequence[str], decisions: int) -> None:
        self._names = names
        path = folder / CSV
        header = ",".join(["decisions", *names])
        kept = [header]
        if path.exists():
            lines = path.read_text(encoding="utf-8").split("\n")[1:-1]  # what follows the last line end is half a row
            kept += [line for line in lines if int(line.partition(",")[0]) <= decisions]
        write_atomically(path, lambda file: file.write_text("\n".join([*kept, ""]), encoding="utf-8"))
        self._file = path.open("a", encoding="utf-8")
        self._board = SummaryWriter(str(folder / "curves"), purge_step=decisions + 1)

    def write(self, decisions: int, row: Mapping[str, float]) -> None:
        """Add a row; metrics that it lacks stay empty."""
        cells = [f"{row[name]:.6g}" if name in row else "" for name in self._names]
        self._file.write(",".join([str(decisions), *cells]) + "\n")
        self._file.flush()
        for name, value in row.items():
            self._board.add_scalar(name, value, decisions)

    def flush(self) -> None:
        """See that all that was written is in the files."""
        self._board.flush()

    def close(self) -> None:
        """Write what is left and close the files."""
        self._file.close()
        self._board.close()


def read(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """The curves of a run: decisions and value of each point, by metric."""
    curves: dict[str, list[tuple[int, float]]] = {}
    with (folder / CSV).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for name, cell in row.items():
                if name != "decisions" and cell:
                    curves.setdefault(name, []).append((int(row["decisions"]), float(cell)))
    return curves


def picture(folder: Path, title: str) -> Path:
    """Draw margins against the fixed opponents, and the policy's entropy, as `curves.png` in the run's folder."""
    curves = read(folder)
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(8, 5.5), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        for name, points in curves.items():
            if name.startswith("evaluation/margin_"):
                x, y = zip(*points, strict=True)
                above.plot([each / 1e6 for each in x], y, marker=".", label=name.removeprefix("evaluation/margin_"))
        above.axhline(0, color="0.8", zorder=0)
        above.set_title(title, loc="left")
        above.set_ylabel("margin per deal in points,\nfixed deals")
        if above.get_legend_handles_labels()[0]:
            above.legend(title="against", alignment="left", frameon=False)
        if "policy/entropy" in curves:
            x, y = zip(*curves["policy/entropy"], strict=True)
            below.plot([each / 1e6 for each in x], y, color="0.4")
        below.set_ylabel("entropy in nats")
        below.set_xlabel("million decisions")
        path = folder / "curves.png"
        write_atomically(path, lambda file: figure.savefig(file, dpi=150))
    return path
