//! How a set becomes a table, a filter or a vector.
