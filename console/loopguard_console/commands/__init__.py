"""One file a command. ``cli.py`` names them; each is imported only when it runs."""
