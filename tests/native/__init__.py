"""Tests of the frameworks' own files of weights."""
