"""Tests of the lanes whose products have fewer digits."""
