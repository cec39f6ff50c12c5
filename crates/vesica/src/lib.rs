//! Private set intersection: find the rows two tables share, and show neither side anything else.
