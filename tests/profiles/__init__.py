"""Tests of ``frameworks/NAME/profile.py``, against the time of the same pass."""
