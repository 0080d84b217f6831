"""Reports of one session for people who were not there, and a test that its loop is caught."""
