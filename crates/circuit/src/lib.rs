//! Circuits as text, and the engines that run them.
