"""Table 2: accuracy against the number of features on a histogram of gradients.

python examples/paper/table_2_hog.py [--quick] [--out FOLDER]
"""

from one_descriptor import run
from results import arguments

if __name__ == "__main__":
    run("hog", "table_2_hog", "Table 2: histogram of gradients", arguments(__doc__))
