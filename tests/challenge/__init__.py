"""Tests of challenges: right, wrong, partial and damaged answers."""
