"""The console in a browser, behind a door that checks who knocks."""
