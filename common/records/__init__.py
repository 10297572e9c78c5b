"""Proofs on record: a committed file for each certificate and each set of planted mistakes.

A record has hashes of the code that it depends on. While they match, the proof is not repeated.
"""
