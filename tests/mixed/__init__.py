"""Tests of lane bf16."""
