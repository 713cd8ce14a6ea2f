"""Progress: a bar where somebody watches, a callback for programs."""

import sys
from types import SimpleNamespace

import pytest
import tqdm.auto

from streamchi2.sources import progress_bar


class Bar:
    made = ()

    def __init__(self, **options):
        self.options, self.shown, self.closed = options, [], False
        Bar.made = (*Bar.made, self)

    def update(self, n_rows):
        self.shown.append(n_rows)

    def close(self):
        self.closed = True


@pytest.fixture
def bars(monkeypatch):
    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    monkeypatch.setattr(Bar, "made", ())
    return lambda: Bar.made


@pytest.mark.parametrize(("kernel", "n_bars"), [("IPKernelApp", 1), ("TerminalIPythonApp", 0)])
def test_a_bar_is_shown_in_a_notebook_where_stderr_is_no_terminal(
    bars, monkeypatch, kernel, n_bars
):
    shell = SimpleNamespace(config={kernel: {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with progress_bar(10, n_done=3) as report:
        report(4)
    with progress_bar(10, verbose=0) as report:
        report(4)
    assert len(bars()) == n_bars
    for bar in bars():
        assert (bar.options["total"], bar.options["initial"]) == (10, 3)
        assert (bar.shown, bar.closed) == ([4], True)


def test_a_callback_hears_how_many_rows_there_have_been_whoever_watches():
    heard = []
    with progress_bar(None, n_done=5, callback=lambda *found: heard.append(found)) as report:
        report(4)
        report(1)
    with progress_bar(9, verbose=0, callback=lambda *found: heard.append(found)) as report:
        report(9)
    assert heard == [(9, None), (10, None), (9, 9)]


def test_what_a_callback_raises_goes_through_and_closes_the_bar(bars, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    def enough(n_done, n_rows):
        raise KeyboardInterrupt

    def run():
        with progress_bar(9, callback=enough) as report:
            report(1)

    with pytest.raises(KeyboardInterrupt):
        run()
    assert bars()[0].closed


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="callback must be callable"), progress_bar(3, callback=3):
        pass
