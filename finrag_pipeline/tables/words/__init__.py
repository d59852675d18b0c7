"""The detector ``words``: tables of born-digital pages from word boxes alone."""
