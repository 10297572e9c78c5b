"""What ``frameworks/NAME/record.py`` records, compared with a recording of the NumPy network."""
