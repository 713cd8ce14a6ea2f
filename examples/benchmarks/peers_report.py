"""Tables and the picture of what ``peers.py`` has measured."""

import numpy as np

OURS = ("streamchi2", "streamchi2, river")
RIVALS = ("neural network", "linear ridge on roots")
NO_STREAM = (
    "exact kernel, SVC",
    "linear ridge on roots",
    "neural network, 5 passes",
    "LightGBM",
)


def report(results):
    """Return all tables as text; ``results`` maps (way, set, learner, seed) to what was found."""
    return "\n\n".join([in_batches(results), claim(results), row_by_row(results)])


def _names(results, way, index):
    return list(dict.fromkeys(key[index] for key in results if key[0] == way))


def _line(name, cells, width=26):
    return f"{name:{width}}" + "".join(f" {cell:>13}" for cell in cells)


def in_batches(results):
    """Return accuracy and seconds of the first seed, a line a learner."""
    sets, learners = (_names(results, "batches", index) for index in (1, 2))
    lines = ["In batches, one pass: accuracy on other rows / seconds", _line("", sets)]
    for learner in learners:
        cells_of = [results.get(("batches", title, learner, 0)) for title in sets]
        cells = [f"{f['accuracy']:.3f} /{f['seconds']:5.1f}" if f else "" for f in cells_of]
        lines.append(_line(learner, cells))
    return "\n".join(lines)


def differences(results, learner, title):
    """Return ours minus the better of the rivals for each seed, and the ratio of their seconds.

    The better one by its mean over the seeds.
    """

    def runs(name):
        outcomes = [f for k, f in sorted(results.items()) if k[:3] == ("batches", title, name)]
        return [np.array([f[field] for f in outcomes]) for field in ("accuracy", "seconds")]

    mine = runs(learner)
    rivals = [outcomes for outcomes in map(runs, RIVALS) if outcomes[0].size]
    if not rivals or not mine[0].size:
        return None
    rival = max(rivals, key=lambda outcomes: outcomes[0].mean())
    n_seeds = min(mine[0].size, rival[0].size)
    ratio = float(np.median(mine[1]) / np.median(rival[1]))
    return mine[0][:n_seeds] - rival[0][:n_seeds], ratio


def claim(results):
    """Return whether our defaults are at least as good as the better of network and ridge."""
    title = "Defaults minus the better of neural network and linear ridge on roots"
    lines = [f"{title}; seconds as a multiple of its own"]
    lines.append(f"{'':18}" + "".join(f" {name:>28}" for name in OURS))
    for name in _names(results, "batches", 1):
        cells = []
        for learner in OURS:
            difference = differences(results, learner, name)
            if difference is None:
                cells.append("")
                continue
            gains, ratio = difference
            error = gains.std(ddof=1) / np.sqrt(gains.size) if gains.size > 1 else np.nan
            holds = "yes" if gains.mean() >= 0 else "NO"
            cells.append(f"{gains.mean():+.3f} ({error:.3f}) {ratio:5.1f}x {holds}")
        lines.append(f"{name:18}" + "".join(f" {cell:>28}" for cell in cells))
    return "\n".join(lines)


def _share(hits):
    return hits.count("1") / len(hits)


def row_by_row(results):
    """Return accuracy, ours on the same rows where not all were reached, and time a row."""
    sets, learners = (_names(results, "rows", index) for index in (1, 2))
    lines = [
        "Row by row: accuracy (rows reached, ours on these) / milliseconds a row",
        f"{'':26}" + "".join(f" {title:>24}" for title in sets),
    ]
    for learner in learners:
        cells = []
        for title in sets:
            result = results.get(("rows", title, learner, 0))
            if result is None:
                cells.append("")
                continue
            hits, ours = result["hits"], results.get(("rows", title, "streamchi2", 0))
            beside = ""
            if len(hits) < result["rows"]:
                same = f", {_share(ours['hits'][: len(hits)]):.3f}" if ours else ""
                beside = f" ({len(hits)}{same})"
            cells.append(f"{_share(hits):.3f}{beside} /{1e3 * result['seconds'] / len(hits):.2f}")
        lines.append(f"{learner:26}" + "".join(f" {cell:>24}" for cell in cells))
    return "\n".join(lines)


def points(results, way):
    """Return the sets that every learner has met, and cost and mean accuracy of each learner.

    Cost is seconds, or milliseconds a row; the last entry tells whether all rows were reached. The
    exact kernel is measured on some dense sets only, so on these all are compared.
    """
    sets = [name for name in _names(results, way, 1) if way == "rows" or "newsgroups" not in name]
    runs_of = {
        learner: [results.get((way, name, learner, 0)) for name in sets]
        for learner in _names(results, way, 2)
    }
    runs_of = {learner: runs for learner, runs in runs_of.items() if any(runs)}
    common = [index for index in range(len(sets)) if all(runs[index] for runs in runs_of.values())]
    summary = {}
    for learner, all_runs in runs_of.items():
        runs = [all_runs[index] for index in common]
        if way == "batches":
            cost = np.mean([run["seconds"] for run in runs])
            summary[learner] = cost, np.mean([run["accuracy"] for run in runs]), True
        else:
            cost = np.mean([1e3 * run["seconds"] / len(run["hits"]) for run in runs])
            accuracy = np.mean([_share(run["hits"]) for run in runs])
            whole = all(len(run["hits"]) == run["rows"] for run in runs)
            summary[learner] = cost, accuracy, whole
    return [sets[index] for index in common], summary


def draw(results, path):
    """Draw accuracy against processor time: one panel in batches, one row by row."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    panels_of = {
        "batches": ("one pass in batches", "processor time, seconds"),
        "rows": ("row by row: predicted, then learnt", "processor time, milliseconds a row"),
    }
    labels = []
    for panel, (way, (title, cost)) in zip(panels, panels_of.items(), strict=True):
        sets, summary = points(results, way)
        for learner, (x, y, whole) in summary.items():
            ours = learner.startswith("streamchi2")
            colour = "C3" if ours else "C7" if way == "batches" and learner in NO_STREAM else "C0"
            panel.plot(x, y, "o", color=colour, mfc=colour if whole else "none", zorder=3)
            labels.append((panel, learner, (x, y), colour, "bold" if ours else "normal"))
        panel.set(xscale="log", xlabel=cost, ylabel="accuracy, mean over the sets")
        panel.set_title(f"{title}\n{'; '.join(sets)}", fontsize=9)
        panel.grid(alpha=0.3)
        panel.margins(x=0.3, y=0.15)
    figure.draw_without_rendering()
    places = [panel.transData.transform(point) for panel, _, point, *_ in labels]
    taken = [matplotlib.transforms.Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in places]
    for panel, text, point, colour, weight in labels:
        # The first place beside the point where nothing else stands.
        for dx, dy in [(7 * side, 9 * step) for step in (0, 1, -1, 2, -2, 3) for side in (1, -1)]:
            note = panel.annotate(
                text,
                point,
                xytext=(dx, dy - 3),
                textcoords="offset points",
                ha="left" if dx > 0 else "right",
                fontsize=8,
                color=colour,
                weight=weight,
            )
            box = note.get_window_extent()
            inside = panel.bbox.x0 <= box.x0 and box.x1 <= panel.bbox.x1
            if inside and not box.count_overlaps(taken):
                break
            if (dx, dy) != (-7, 27):
                note.remove()
        taken.append(box)
    figure.savefig(path, dpi=110)
