"""Table 1: accuracy against the number of features on a bag of visual words.

python examples/paper/table_1_bow.py [--quick] [--out FOLDER]
"""

from one_descriptor import run
from results import arguments

if __name__ == "__main__":
    run("bow", "table_1_bow", "Table 1: bag of visual words", arguments(__doc__))
