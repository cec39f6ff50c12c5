//! The AES kernels for x86-64, for vectors of 128, 256 and 512 bits.

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::half_gates::Batch;
use super::shared::*;
use crate::block::Block;

pub(crate) use narrow::{expand, expand_wide};

pub(super) mod middle;
pub(super) mod narrow;
pub(super) mod wide;
