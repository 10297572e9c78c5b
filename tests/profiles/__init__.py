"""What ``frameworks/NAME/profile.py`` tells, beside how long the same pass takes."""
