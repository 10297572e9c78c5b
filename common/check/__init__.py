"""Is a user's own installation as fast as it should be?"""
