//! RSA keys of seeded tests, each made once: a key of 3072 bits takes a second, and a loop over a protocol makes the
//! same one hundreds of times.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use vesica_crypto::bigint::RsaKey;

/// Length of the modulus, public exponent, and the seed that the rest of a key follows from.
type Made = (u32, u32, [u8; 32]);

static KEYS: Mutex<BTreeMap<Made, Arc<OnceLock<Arc<RsaKey>>>>> = Mutex::new(BTreeMap::new());

/// The key, which `generate` makes if this process has not made it before.
pub(crate) fn rsa_key(made: Made, generate: impl FnOnce(&[u8; 32]) -> RsaKey) -> Arc<RsaKey> {
    let key = KEYS.lock().unwrap_or_else(PoisonError::into_inner).entry(made).or_default().clone();
    key.get_or_init(|| Arc::new(generate(&made.2))).clone()
}
