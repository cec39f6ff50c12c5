//! Oblivious transfer, its extensions, and vector oblivious linear evaluation.
