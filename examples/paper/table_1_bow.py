"""Table 1: accuracy against the number of features, bag of words.

python examples/paper/table_1_bow.py [--quick] [--out FOLDER] [--parts NAME ...] [--sets NAME ...]

Cells that are in the CSV file already are not computed again.
"""

from one_descriptor import main

if __name__ == "__main__":
    main(__doc__, "table_1_bow", ("bow", "three bow"))
