"""Online learning on histograms: the exp-chi2 kernel at linear cost, one pass, constant memory."""

from streamchi2.kernels import chi2_distance, exp_chi2_kernel

__version__ = "0.1.0"

__all__ = ["chi2_distance", "exp_chi2_kernel"]
