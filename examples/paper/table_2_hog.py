"""Table 2: accuracy against the number of features, histogram of gradients.

python examples/paper/table_2_hog.py [--quick] [--out FOLDER] [--parts NAME ...] [--sets NAME ...]

Cells that are in the CSV file already are not computed again.
"""

from one_descriptor import main

if __name__ == "__main__":
    main(__doc__, "table_2_hog", ("hog", "three hog"))
