"""Proofs on record: a committed file for each certificate and each set of planted mistakes.

A record has hashes of the code that it rests on. While they fit, the proof need not be repeated.
"""
