//! Circuits as text, and the engines that run them: empty until the circuit protocols come.

#![forbid(unsafe_code)]
