//! Channels between the parties: memory, TCP, TLS, with frames, heartbeats, counters and digests.
