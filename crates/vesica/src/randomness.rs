//! Where a run's randomness comes from.

use rand::TryRng;
use rand::rngs::SysRng;
use vesica_crypto::block::Block;
use vesica_crypto::prg::Prg;
use vesica_protocols::Phase;
use zeroize::Zeroizing;

use crate::error::{Error, Kind, Side};

/// A generator seeded by the operating system, wiped when it is dropped. Every run gets one of its own.
pub fn randomness() -> Result<Prg, Error> {
    let mut seed = Zeroizing::new([0; 16]);
    match SysRng.try_fill_bytes(&mut *seed) {
        Ok(()) => Ok(Prg::from_seed(Block::from_bytes(*seed))),
        Err(cause) => Err(Error {
            side: Side::Ours,
            phase: Phase::Prepare,
            kind: Kind::Internal,
            message: format!("the system gives no randomness: {cause}"),
            remedy: "mend the system; nothing was read or sent".into(),
        }),
    }
}
