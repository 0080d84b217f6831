"""Errors for people: what happened, where, and what to do."""


class Failure(Exception):
    """Something that should have worked did not: exit code 1."""


class Refused(Exception):
    """The input or the usage is wrong: exit code 2."""
