"""The page's Tables 3 and 4, from the accuracies of all cells."""

from cells import HALF
from paired import Difference, names_in, signed, significant, table
from tables import LEARNERS, METHODS, SERIES, SIZES, count, mean, table_with_tests, tested


def descriptors(accuracies):
    """Return the table of three descriptors."""
    exact = "Exact, sum of kernels", "Exact, product of kernels"
    methods = (*METHODS[: METHODS.index("Exact exp-chi2")], *exact)
    size, rows = SIZES[0], []
    cells = {
        (method, learner): accuracies.of("cifar10_three", method, size, learner=learner)
        for method in methods
        for learner in LEARNERS
    }
    gains = {
        (method, learner): Difference(cells[method, learner], cells["Direct", learner])
        for method in methods
        for learner in LEARNERS
        if method != "Direct"
    }
    bold = significant(gains)
    for method in methods:
        some = [cells[method, learner] for learner in LEARNERS]
        keys = [(method, learner) for learner in LEARNERS]
        if any(some):
            less = [gains[key].text(bold=key in bold) if key in gains else "" for key in keys]
            rows.append([method, count(*some), mean(some[0]), less[0], mean(some[1]), less[1]])
    heads = ["features", "seeds", "ridge", "ridge − Direct", "SVM", "SVM − Direct"]
    return table(heads, rows) + "\n\n" + tested(gains, " here")


def descriptors_less(accuracies, learner, *words):
    """Return one method less another on three descriptors: words are "one / another"."""
    sides = (
        accuracies.of("cifar10_three", name, SIZES[0], learner=learner) for name in names_in(words)
    )
    return Difference(*sides).text()


STREAMED = ("Linear", "Linear on square roots", *SERIES, "Direct, subspace", "Nyström",
            *(f"PCA-{name}" for name in SERIES))  # fmt: skip


def streams(accuracies, *words):
    """Return the table of one stream."""
    data, rows = f"{words[0]} of fashion_bow", []
    for name in STREAMED:
        kinds = [
            [accuracies.of(data, name, size, learner=kind) for size in SIZES]
            for kind in ("ridge", "calibrated ridge")
        ]
        if any(kinds[0]):
            rows.append([name, count(*kinds[0]), *(mean(one) for kind in kinds for one in kind)])
    heads = ["features", "seeds", *SIZES, *(f"{size}, calibrated" for size in SIZES)]
    return table(heads, rows)


def stream_differences(accuracies, *words):
    """Return differences to Direct on one stream, and what calibration adds."""
    gains = _of_stream(accuracies, f"{words[0]} of fashion_bow")
    columns = list(dict.fromkeys(key[1:] for key in gains))
    return table_with_tests("features", gains, STREAMED, columns)


def stream_less(accuracies, what, *words):
    """Return a method less Direct on one stream, least and largest mean over the sizes."""
    gains = _of_stream(accuracies, f"{what} of fashion_bow")
    parts = [gains[" ".join(words), "− Direct", size].values for size in SIZES]
    means = [values.mean() for values in parts if values.size]
    return " to ".join(dict.fromkeys(signed(value) for value in (min(means), max(means))))


def half_betas(accuracies, *words):
    """Return what half of the usual beta adds on one stream, and differences to Direct with it."""
    data, gains = f"{words[0]} of fashion_bow", {}

    def of(name, beta):
        return accuracies.of(data, name, SIZES[0], beta=beta)

    for name in SERIES:
        gains[name, "half of beta − beta"] = Difference(of(name, HALF), of(name, "auto"))
        for label, beta in (("− Direct, beta", "auto"), ("− Direct, half of beta", HALF)):
            direct = {} if name == "Direct" else of("Direct", beta)
            gains[name, label] = Difference(of(name, beta), direct)
    columns = list(dict.fromkeys(key[1:] for key in gains))
    return table_with_tests("features", gains, SERIES, columns)


def _of_stream(accuracies, data):
    """Return (method, kind of difference, size) -> difference."""
    cells = {
        (name, learner, size): accuracies.of(data, name, size, learner=learner)
        for name in STREAMED
        for learner in ("ridge", "calibrated ridge")
        for size in SIZES
    }
    gains = {}
    for name in STREAMED:
        for size in SIZES:
            direct = {} if name == "Direct" else cells["Direct", "ridge", size]
            gains[name, "− Direct", size] = Difference(cells[name, "ridge", size], direct)
        for size in SIZES:
            kinds = (cells[name, learner, size] for learner in ("calibrated ridge", "ridge"))
            gains[name, "calibrated − not", size] = Difference(*kinds)
    return gains


TABLES = (descriptors, streams, stream_differences, half_betas)
FIGURES = (descriptors_less, stream_less)
