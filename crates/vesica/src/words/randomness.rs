//! Where a run's randomness comes from.

use rand::TryRng;
use rand::rngs::SysRng;
use vesica_crypto::wide_prg::WidePrg;
use zeroize::Zeroizing;

use crate::words::error::{Error, Kind, RunPhase, Side};

/// A generator with a seed of 256 bits from the operating system, wiped when it is dropped: as strong as the highest level.
/// Every run gets one of its own.
pub fn randomness() -> Result<WidePrg, Error> {
    let mut seed = Zeroizing::new([0; 32]);
    match SysRng.try_fill_bytes(&mut *seed) {
        Ok(()) => Ok(WidePrg::from_seed(&seed)),
        Err(cause) => Err(Error {
            side: Side::Ours,
            phase: RunPhase::Prepare,
            kind: Kind::Internal,
            message: format!("the system provides no randomness: {cause}").into(),
            remedy: "repair the system's source of randomness; nothing was read or sent".into(),
        }),
    }
}
