"""Online learning on histograms: the exp-chi2 kernel at linear cost, one pass, constant memory."""

from streamchi2.estimators.classifier import ExpChi2Classifier
from streamchi2.estimators.pca import ExpChi2PCA
from streamchi2.estimators.regressor import ExpChi2Regressor
from streamchi2.estimators.sampler import ExpChi2Sampler
from streamchi2.estimators.streaming_pca import StreamingPCA
from streamchi2.estimators.streaming_ridge import StreamingRidge, StreamingRidgeClassifier
from streamchi2.features import KernelError, Transport
from streamchi2.files import load, save
from streamchi2.kernels import chi2_distance, exp_chi2_kernel
from streamchi2.series import (
    ChebyshevSeries,
    DirectSeries,
    VZSeries,
    greedy_parameters,
    refined_parameters,
    zolotarev_parameters,
)
from streamchi2.statistics.forgetting import Forgotten
from streamchi2.statistics.log_histogram import LogHistogram

__version__ = "0.1.0"

__all__ = [
    "ChebyshevSeries",
    "DirectSeries",
    "ExpChi2Classifier",
    "ExpChi2PCA",
    "ExpChi2Regressor",
    "ExpChi2Sampler",
    "Forgotten",
    "KernelError",
    "LogHistogram",
    "StreamingPCA",
    "StreamingRidge",
    "StreamingRidgeClassifier",
    "Transport",
    "VZSeries",
    "chi2_distance",
    "exp_chi2_kernel",
    "greedy_parameters",
    "load",
    "refined_parameters",
    "save",
    "zolotarev_parameters",
]
