"""What is said of a call, and of the request about it: texts, without a screen."""
