"""Pictures of a stream, in the manner of scikit-learn's displays.

Each picture is a display that holds the numbers, draws them with ``plot(ax=)`` and keeps the
artists in ``ax_``, ``figure_`` and ``line_``; the function of the same purpose takes and returns
matplotlib Axes. They need the extra ``plot`` (matplotlib), which is imported on drawing.
"""

from streamchi2.plots.convergence import ConvergenceDisplay, plot_convergence
from streamchi2.plots.descriptor_path import DescriptorPathDisplay, plot_descriptor_path
from streamchi2.plots.input_histogram import InputHistogramDisplay, plot_input_histogram
from streamchi2.plots.kernel import KernelDisplay, plot_kernel
from streamchi2.plots.progress import ProgressDisplay, plot_progress
from streamchi2.plots.spectrum import SpectrumDisplay, plot_spectrum

__all__ = [
    "ConvergenceDisplay",
    "DescriptorPathDisplay",
    "InputHistogramDisplay",
    "KernelDisplay",
    "ProgressDisplay",
    "SpectrumDisplay",
    "plot_convergence",
    "plot_descriptor_path",
    "plot_input_histogram",
    "plot_kernel",
    "plot_progress",
    "plot_spectrum",
]
