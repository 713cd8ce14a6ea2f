"""What save says to a pipeline."""

import pytest
from river import compose
from river import preprocessing as river_preprocessing
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from streamchi2 import ExpChi2Sampler, save
from streamchi2.river import ExpChi2Classifier as RiverClassifier


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.chi2"


def test_pipelines_of_scikit_learn_are_refused_with_the_way_out(path):
    pipeline = make_pipeline(Normalizer("l1"), ExpChi2Sampler(8), StandardScaler())
    expected = (
        r"a Pipeline cannot be saved as a whole.*: save\(pipeline\['expchi2sampler'\], path\)"
        r".* \['normalizer', 'standardscaler'\] with joblib or pickle"
    )
    with pytest.raises(TypeError, match=expected):
        save(pipeline, path)
    assert not path.exists()


def test_pipelines_of_river_are_refused_with_the_way_out(path):
    pipeline = river_preprocessing.MinMaxScaler() | RiverClassifier(8)
    expected = r"save\(pipeline\['ExpChi2Classifier'\], path\).* \['MinMaxScaler'\] with joblib"
    with pytest.raises(TypeError, match=expected):
        save(pipeline, path)
    save(pipeline["ExpChi2Classifier"], path)


def test_pipelines_without_a_step_of_ours_are_left_to_others(path):
    with pytest.raises(TypeError, match="none of its steps is of this library; use joblib"):
        save(make_pipeline(StandardScaler()), path)
    with pytest.raises(TypeError, match="none of its steps"):
        save(compose.Pipeline(river_preprocessing.StandardScaler()), path)
