"""The durable log of changes beside each model: events, their history and replay, compaction, snapshots."""
