"""The learned page scorer: a bi-encoder trained on pairs of question and gold page. Knows no Dagster.

Kobeissi & Langlais rank all pages of the corpus by it and search for chunks inside the first P of them.
"""

SCORER_VERSION = "1"
