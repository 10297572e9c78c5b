"""What is not mixed precision is caught."""
