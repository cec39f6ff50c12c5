//! A helper that works with the receiver: together they have the sender's masks and the key.
//!
//! The helper of `server-aided` sees the masks of both parties and not the key, the receiver has the key and
//! sees no mask of the sender's. If the two are one, they try every telephone number, as under salted hashing.
//! The sender cannot notice.
//!
//! What prevents it: nothing in this protocol, which is why the registry says so. All other protocols of the
//! registry have no helper.

use std::collections::HashSet;
use std::thread;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use vesica_channel::{Channel, Stream, memory};
use vesica_crypto::hash::{Label, Oracle};
use vesica_encode::sorted;
use vesica_protocols::server_aided::kmrs14::ENTRY;
use vesica_protocols::{Ctx, MaskWidth, Parameters, Run, Sizes};

use crate::{Error, items_of, phone_book, search};

/// Bytes of a share of the key.
const SHARE: usize = 32;

/// The sender's numbers that receiver and helper find among the first `range`; also all of them.
///
/// # Errors
/// If the sender notices anything.
pub fn try_everything(range: u32, customers: usize) -> Result<(Vec<u32>, Vec<u32>), Error> {
    let theirs = phone_book(range, customers, 8);
    let items = items_of(theirs.iter().copied())?;
    let sizes = Sizes { receiver: 3, sender: customers };
    let run = || ENTRY.run(&[7; 32], sizes, Parameters::default());
    let ((to_sender, mut direct), (helper, mut with_helper)) = (memory::pair(), memory::pair());
    thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let (run, rng) = (run(), &mut StdRng::seed_from_u64(1));
            let ctx = &mut Ctx { helper: Some(&mut with_helper), ..Ctx::new(&run, &mut direct, rng) };
            ENTRY.send(ctx, &items).map(|_| ())
        });
        let numbers = collude(&run(), to_sender, helper, range);
        sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((numbers?, theirs))
    })
}

/// The receiver's end of the connection to the sender, and the helper's.
fn collude(run: &Run<'_>, mut direct: Stream, mut helper: Stream, range: u32) -> Result<Vec<u32>, Error> {
    // The receiver: the shares of the key.
    let (mut mine, mut theirs) = ([0; SHARE], [0; SHARE]);
    StdRng::seed_from_u64(2).fill_bytes(&mut mine);
    direct.send(&mine)?;
    direct.recv_exact(&mut theirs)?;
    let mut key = [0; 32];
    run.context.hash_parts(Label::new("server-aided: shares to key"), &[&mine, &theirs], &mut key);
    let prf = Oracle::with_key(key);
    // The helper: the sender's masks.
    let (width, count) = (MaskWidth::for_sizes(run.sizes, run.parameters.statistical)?, run.sizes.sender);
    let mut list = vec![0; sorted::encoded_bytes(count, width.bits())];
    helper.recv_exact(&mut list)?;
    let masks: HashSet<u128> = sorted::decode(&list, count, width.bits())?.into_iter().collect();
    Ok(search(range, |item| {
        let mut hash = [0; 16];
        prf.hash(item, &mut hash);
        masks.contains(&width.truncate(&hash))
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receiver_and_helper_learn_the_whole_table() -> Result<(), Error> {
        let (numbers, theirs) = try_everything(50_000, 300)?;
        assert_eq!(numbers, theirs);
        Ok(())
    }
}
