"""The challenge: answers that are right, wrong, partial or spoilt, and a port in C."""
