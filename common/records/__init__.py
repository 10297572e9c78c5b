"""Proofs on record: a committed file for each certificate, and for what came of planted mistakes.

A record holds hashes of the code that it rests on. While they fit, nobody needs to prove it again.
"""
