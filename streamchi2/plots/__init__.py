"""Pictures of a fitted estimator and of its stream.

Every function draws on matplotlib Axes, given or new, and returns them. Estimators for scikit-learn
and for river are drawn alike. Needs the extra ``plot`` (matplotlib), imported on drawing.
"""

from streamchi2.plots.inputs import plot_convergence, plot_input_histogram, plot_kernel
from streamchi2.plots.models import plot_descriptor_path, plot_progress, plot_spectrum

__all__ = [
    "plot_convergence",
    "plot_descriptor_path",
    "plot_input_histogram",
    "plot_kernel",
    "plot_progress",
    "plot_spectrum",
]
