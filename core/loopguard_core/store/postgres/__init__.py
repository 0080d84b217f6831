"""The event store on PostgreSQL: the engine for many machines. Nothing here is imported for a store in a file.

Every table of the log is keyed by the session first (``schema``), so that a distributed PostgreSQL can shard
by it. Of one session alone, and so on one shard: every append that is no request's, every page and every
record that is read, the last number, the last turn, the next change, its size, and forgetting it. Of all
sessions: their list (one probe of an index a session), the inbox (the small table ``request``, written when a human is
asked) and its numbers, and who is in touch (``console``, ``machine``).
"""
