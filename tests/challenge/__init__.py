"""The challenge: answers that are right, wrong, partial or spoilt, and a port in C."""

# What the port in C needs: Debian packages, each with its program or library.
SYSTEM = {"gcc": "gcc", "libopenblas-dev": "libopenblas.so"}
