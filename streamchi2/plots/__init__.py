"""Pictures of a fitted estimator and of its stream.

Every function draws on matplotlib Axes, given or new, and returns them. Estimators for scikit-learn
and for river are drawn alike. Needs the extra ``plot`` (matplotlib), imported on drawing.
"""

from streamchi2.plots.convergence import plot_convergence
from streamchi2.plots.descriptor_path import plot_descriptor_path
from streamchi2.plots.input_histogram import plot_input_histogram
from streamchi2.plots.kernel import plot_kernel
from streamchi2.plots.progress import plot_progress
from streamchi2.plots.spectrum import plot_spectrum

__all__ = [
    "plot_convergence",
    "plot_descriptor_path",
    "plot_input_histogram",
    "plot_kernel",
    "plot_progress",
    "plot_spectrum",
]
