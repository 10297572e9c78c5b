"""What each layer computes, by trying."""
