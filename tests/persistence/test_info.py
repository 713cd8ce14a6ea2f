"""python -m streamchi2 info FILE, and what save says to a pipeline."""

import subprocess
import sys

import numpy as np
import pytest
from river import compose
from river import preprocessing as river_preprocessing
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from streamchi2 import ExpChi2Classifier, ExpChi2Sampler, LogHistogram, StreamingRidge, save
from streamchi2.__main__ import main
from streamchi2.river import ExpChi2Classifier as RiverClassifier

ROWS = np.random.default_rng(0).dirichlet(np.ones(6), 150)
LABELS = (ROWS[:, 0] > ROWS[:, 1]).astype(int)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.chi2"


def info(capsys, path, *options):
    code = main(["info", str(path), *options])
    out, err = capsys.readouterr()
    lines = [line.strip().split("  ", 1) for line in out.splitlines()[1:]]
    return code, {name: value.strip() for name, value in lines}, err


def test_a_checkpoint_is_described(path, capsys):
    model = ExpChi2Classifier(16, alpha=0.5, random_state=0)
    batches = [(ROWS[:100], LABELS[:100]), (ROWS[100:], LABELS[100:])]
    model.fit_stream(batches, source_name="days", checkpoint=path, checkpoint_every=60)
    code, found, err = info(capsys, path)
    assert (code, err) == (0, "")
    assert found["class"] == "ExpChi2Classifier"
    assert found["parameters"] == "n_components=16, alpha=0.5, random_state=0"
    assert found["rows seen"] == "150"
    assert found["classes"] == "2"
    assert found["provenance"] == "days: 150 rows (0 to 150)"
    assert found["file"].startswith(f"{path.stat().st_size:,} bytes, format ")
    assert found["kernel error"].startswith(f"rms {model.kernel_error().rms:.2g}, worst")
    assert float(found["beta"]) == pytest.approx(model.beta_, rel=1e-3)


def test_others_are_described_too(path, capsys):
    river = RiverClassifier(16, seed=0)
    for row, label in zip(ROWS[:20].tolist(), LABELS.tolist(), strict=False):
        river.learn_one(dict(enumerate(row)), label)
    save(river, path)
    code, found, _ = info(capsys, path)
    assert (code, found["class"]) == (0, "ExpChi2Classifier for river")
    assert found["provenance"] == "not recorded"
    save(StreamingRidge().fit(ROWS, ROWS[:, 0]), path)
    assert "kernel error" not in info(capsys, path)[1]
    save(ExpChi2Sampler(), path)
    _, found, _ = info(capsys, path)
    assert found["parameters"] == "all at their defaults"
    assert found["rows seen"] == "none, not fitted"
    save(LogHistogram().update([1.0]), path)
    assert info(capsys, path)[1]["content"].startswith("LogHistogram(")
    save(ExpChi2Sampler(8).fit(ROWS[:1]), path)  # one row has no pairs
    assert "kernel error" not in info(capsys, path)[1]


def test_exit_codes_tell_foreign_files_from_missing_ones(path, tmp_path, capsys):
    save(ExpChi2Sampler(), path)
    foreign = tmp_path / "notes.txt"
    foreign.write_text("dear diary")
    code, found, err = info(capsys, foreign)
    assert (code, found) == (1, {})
    assert err == f"streamchi2: {foreign}: not a streamchi2 file: it begins with b'dear dia'\n"
    assert info(capsys, tmp_path / "absent")[0] == 2
    assert info(capsys, tmp_path)[0] == 1  # a folder
    code, found, _ = info(capsys, foreign, str(path))  # the others are read all the same
    assert code == 1
    assert found["class"] == "ExpChi2Sampler"
    damaged = bytearray(path.read_bytes())
    damaged[-40] ^= 1
    path.write_bytes(damaged)
    code, _, err = info(capsys, path)
    assert code == 1
    assert "damaged" in err
    with pytest.raises(SystemExit) as stopped:
        main(["inform"])
    assert stopped.value.code == 2


def test_a_sealed_file_needs_its_key(path, tmp_path, capsys):
    save(ExpChi2Sampler(), path, key=b"secret")
    code, _, err = info(capsys, path)
    assert code == 1
    assert "was saved with a key" in err
    key = tmp_path / "key"
    key.write_bytes(b"secret")
    code, found, _ = info(capsys, path, "--key-file", str(key))
    assert code == 0
    assert found["file"].endswith("sealed with a key")
    assert info(capsys, path, "--key-file", str(tmp_path / "none"))[0] == 2


def test_it_runs_as_a_command(path):
    save(ExpChi2Sampler(7), path)
    command = [sys.executable, "-m", "streamchi2", "info", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "n_components=7" in done.stdout


class TestPipelines:
    def test_of_scikit_learn_are_refused_with_the_way_out(self, path):
        pipeline = make_pipeline(Normalizer("l1"), ExpChi2Sampler(8), StandardScaler())
        expected = (
            r"a Pipeline cannot be saved as a whole.*: save\(pipeline\['expchi2sampler'\], path\)"
            r".* \['normalizer', 'standardscaler'\] with joblib or pickle"
        )
        with pytest.raises(TypeError, match=expected):
            save(pipeline, path)
        assert not path.exists()

    def test_of_river_are_refused_with_the_way_out(self, path):
        pipeline = river_preprocessing.MinMaxScaler() | RiverClassifier(8)
        expected = r"save\(pipeline\['ExpChi2Classifier'\], path\).* \['MinMaxScaler'\] with joblib"
        with pytest.raises(TypeError, match=expected):
            save(pipeline, path)
        save(pipeline["ExpChi2Classifier"], path)

    def test_without_a_step_of_ours_are_left_to_others(self, path):
        with pytest.raises(TypeError, match="none of its steps is of this library; use joblib"):
            save(make_pipeline(StandardScaler()), path)
        with pytest.raises(TypeError, match="none of its steps"):
            save(compose.Pipeline(river_preprocessing.StandardScaler()), path)
