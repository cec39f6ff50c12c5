//! Records in, rows out: CSV, key rules, encoding, selection.
