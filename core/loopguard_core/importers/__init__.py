"""Transcripts of real agents, read as our events: one importer a format, found by content."""

from loopguard_core.importers.base import Recording
from loopguard_core.importers.door import Stream, find_files, open_recordings, open_stream
from loopguard_core.importers.report import Report, Unreadable

__all__ = [
    "Recording",
    "Report",
    "Stream",
    "Unreadable",
    "find_files",
    "open_recordings",
    "open_stream",
]
