"""Progress: a bar where somebody watches, a callback for programs."""

import sys

import pytest

from streamchi2.sources import progress_bar


def test_a_bar_is_shown_on_a_terminal_and_in_a_notebook_alone(capsys, monkeypatch):
    def shown(**options):
        for n_rows in (None, 10):
            with progress_bar(n_rows, n_done=3, **options) as report:
                report(7)
        return "10.0/10.0" in capsys.readouterr().err

    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert not shown()
    with monkeypatch.context() as terminal:
        terminal.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        assert shown()
        assert not shown(verbose=0)
        terminal.setitem(sys.modules, "tqdm.auto", None)
        assert not shown()
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert shown()


@pytest.mark.parametrize("n_rows", [None, 10])
def test_a_callback_hears_how_many_rows_there_have_been_whoever_watches(n_rows):
    heard = []
    with progress_bar(n_rows, n_done=5, callback=lambda *rows: heard.append(rows)) as report:
        report(4)
        report(1)
    assert heard == [(9, n_rows), (10, n_rows)]


def test_what_a_callback_raises_goes_through():
    def enough(n_done, n_rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), progress_bar(9, callback=enough) as report:
        report(1)
    with pytest.raises(TypeError, match="callback must be callable"), progress_bar(3, callback=3):
        pass
