//! Labels that open with the uncut output of the PRF, and with nothing else.
//!
//! The cipher is AES-256-GCM-SIV (RFC 8452) with a zero nonce, under a key for each (key, epoch). A publisher that is run again
//! for the same epoch with other labels shows which of them are equal, and no more; plain GCM would lose both labels and its
//! authentication.

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, Nonce, UnboundKey};
use zeroize::{Zeroize, Zeroizing};

use crate::error::LabelError;

/// Bytes of a sealed label beyond the label.
pub const LABEL_TAG: usize = 16;

const CONTEXT: &str = "vesica kept set: label v1";

/// Seals the label of the key whose uncut output is `output`, in an epoch with this number under this public key of the OPRF.
/// The result is [`LABEL_TAG`] bytes longer than the label. Labels show their length: pad them first.
///
/// # Errors
///
/// [`LabelError::Cipher`] if the cipher refuses.
pub fn seal_label(
    label: &[u8],
    output: &[u8; 64],
    epoch: u64,
    public_key: &[u8; 32],
) -> Result<Vec<u8>, LabelError> {
    let mut sealed = Vec::with_capacity(label.len() + LABEL_TAG);
    sealed.extend_from_slice(label);
    cipher(output, epoch, public_key)?
        .seal_in_place_append_tag(nonce(), Aad::empty(), &mut sealed)
        .map_err(|_| LabelError::Cipher)?;
    Ok(sealed)
}

/// Opens a sealed label.
///
/// # Errors
///
/// [`LabelError::Closed`] if it was sealed for another key or epoch, or was changed.
pub fn open_label(
    sealed: &[u8],
    output: &[u8; 64],
    epoch: u64,
    public_key: &[u8; 32],
) -> Result<Vec<u8>, LabelError> {
    let mut label = sealed.to_vec();
    let cipher = cipher(output, epoch, public_key)?;
    let opened = cipher.open_in_place(nonce(), Aad::empty(), &mut label).map_err(|_| LabelError::Closed)?;
    let length = opened.len();
    label.truncate(length);
    Ok(label)
}

/// The key is BLAKE3's for F(x) ‖ public key ‖ epoch. The library wipes its copy when it is dropped.
fn cipher(output: &[u8; 64], epoch: u64, public_key: &[u8; 32]) -> Result<LessSafeKey, LabelError> {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    hasher.update(output).update(public_key).update(&epoch.to_le_bytes());
    let key = Zeroizing::new(*hasher.finalize().as_bytes());
    hasher.zeroize();
    let key = UnboundKey::new(&AES_256_GCM_SIV, &*key).map_err(|_| LabelError::Cipher)?;
    Ok(LessSafeKey::new(key))
}

fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_opens_for_its_key_and_epoch_alone() {
        let sealed = seal_label(b"label", &[1; 64], 2, &[3; 32]).unwrap();
        assert_eq!(sealed.len(), 5 + LABEL_TAG);
        assert_eq!(open_label(&sealed, &[1; 64], 2, &[3; 32]).unwrap(), b"label");
        let mut output = [1; 64];
        // The value in a set file is in the first bytes; the last one counts as well.
        output[63] = 2;
        let others = [(output, 2, [3; 32]), ([1; 64], 3, [3; 32]), ([1; 64], 2, [4; 32])];
        assert!(others.iter().all(|(output, epoch, key)| open_label(&sealed, output, *epoch, key).is_err()));
        for position in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[position] ^= 1;
            assert_eq!(open_label(&changed, &[1; 64], 2, &[3; 32]), Err(LabelError::Closed));
            assert_eq!(open_label(&sealed[..position], &[1; 64], 2, &[3; 32]), Err(LabelError::Closed));
        }
    }

    #[test]
    fn an_empty_label_has_a_tag() {
        let sealed = seal_label(b"", &[1; 64], 2, &[3; 32]).unwrap();
        assert_eq!((sealed.len(), open_label(&sealed, &[1; 64], 2, &[3; 32]).unwrap().len()), (LABEL_TAG, 0));
    }
}
