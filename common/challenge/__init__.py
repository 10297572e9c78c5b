"""The certificate for code that is never seen: what it asks, as files, and the answers' verdict."""
