//! Every private set intersection protocol, one file per paper.
