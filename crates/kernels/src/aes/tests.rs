#[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
use super::single as best;
#[cfg(target_arch = "x86_64")]
use super::x86 as best;
use super::*;

fn blocks(count: usize, salt: u128) -> Vec<Block> {
    (1..=count as u128)
        .map(|i| Block::from(i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) ^ salt))
        .collect()
}

fn aes_reference(key: Block, plain: Block) -> Block {
    let mut block = plain.to_bytes();
    aes::Aes128::new(key.as_bytes().into()).encrypt_block((&mut block).into());
    Block::from(block)
}

/// FIPS 197, appendix C.1, on every path that schedules a key.
#[test]
fn encrypts_as_fips_197() {
    let key = Block::from(core::array::from_fn(|i| i as u8));
    let plain = Block::from(core::array::from_fn(|i| 0x11 * i as u8));
    let cipher = Block::from(0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.swap_bytes());
    for backend in Backend::available() {
        let mut block = [plain];
        Key::new(backend, &key).encrypt(&mut block);
        assert!(block == [cipher], "{backend:?}");
        let mut block = [plain];
        rekeyed::<1, false>(backend, &[key], [&mut block]);
        assert!(block == [cipher], "{backend:?}");
    }
}

/// FIPS 197, appendix A.1: the last round key.
#[test]
#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
fn schedules_keys_as_fips_197() {
    let key = Block::from(0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.swap_bytes());
    if Backend::detect() == Backend::PORTABLE {
        return;
    }
    // SAFETY: the processor has the instructions of the level above portable.
    let rounds = unsafe { best::expand(&key) };
    assert!(rounds[10] == Block::from(0xd014_f9a8_c9ee_2589_e13f_0cc8_b663_0ca6_u128.swap_bytes()));
}

#[test]
fn keystreams_are_encrypted_counters() {
    let key = Block::from(77u128);
    for backend in Backend::available() {
        let scheduled = Key::new(backend, &key);
        for count in [0, 1, 7, 8, 9, 15, 16, 17, 33, 100] {
            // The low half of the counter carries nowhere within a stream; a start near 2^32 shows 64-bit
            // adds.
            for first in [0, 1, (1 << 32) - 3] {
                let mut out = vec![0; 16 * count];
                scheduled.keystream(first, &mut out);
                for (i, block) in out.as_chunks().0.iter().enumerate() {
                    let expected = aes_reference(key, Block::from_halves(first + i as u64, 0));
                    assert!(Block::from(*block) == expected, "{backend:?} {count} {first} {i}");
                }
            }
        }
    }
}

#[test]
fn hashes_follow_their_formulas() {
    let key = Block::from(99u128);
    for backend in Backend::available() {
        let scheduled = Key::new(backend, &key);
        for count in [0, 1, 8, 15, 16, 17, 63, 64, 65, 150] {
            let plain = blocks(count, 0);
            let mut ecb = plain.clone();
            scheduled.encrypt(&mut ecb);
            let mut ccr = plain.clone();
            scheduled.ccr(&mut ccr);
            let first = u64::MAX - 20;
            let mut tccr = plain.clone();
            scheduled.tccr(first, &mut tccr);
            let (tweaks, mut picked) = (blocks(count, 7), plain.clone());
            scheduled.tccr_at(&tweaks, &mut picked);
            for (i, x) in plain.into_iter().enumerate() {
                let once = aes_reference(key, x);
                assert!(ecb[i] == once, "{backend:?} {count} {i}");
                assert!(ccr[i] == aes_reference(key, sigma(x)) ^ sigma(x), "{backend:?} {count} {i}");
                let tweak = Block::from_halves(first.wrapping_add(i as u64), 0);
                assert!(tccr[i] == aes_reference(key, once ^ tweak) ^ once, "{backend:?} {count} {i}");
                assert!(picked[i] == aes_reference(key, once ^ tweaks[i]) ^ once, "{backend:?} {count} {i}");
            }
        }
    }
}

#[test]
fn rekeyed_columns_equal_single_encryptions() {
    for backend in Backend::available() {
        for count in [0, 1, 7, 8, 9, 15, 16, 17, 40] {
            let keys = blocks(count, 1);
            let plain = [blocks(count, 2), blocks(count, 3)];
            let [mut a, mut b] = plain.clone();
            rekeyed::<2, false>(backend, &keys, [&mut a, &mut b]);
            let [mut c, mut d] = plain.clone();
            rekeyed::<2, true>(backend, &keys, [&mut c, &mut d]);
            for i in 0..count {
                for (raw, hashed, plain) in [(a[i], c[i], plain[0][i]), (b[i], d[i], plain[1][i])] {
                    assert!(raw == aes_reference(keys[i], plain), "{backend:?} {count} {i}");
                    let plain = sigma(plain);
                    assert!(hashed == aes_reference(keys[i], plain) ^ plain, "{backend:?} {count} {i}");
                }
            }
        }
    }
}

#[test]
fn sigma_is_a_linear_orthomorphism() {
    // Columns of σ and of σ ⊕ id as 128 × 128 matrices over GF(2): both have full rank.
    for with_identity in [false, true] {
        let mut columns: Vec<u128> = (0..128)
            .map(|bit| {
                let x = Block::from(1u128 << bit);
                (if with_identity { sigma(x) ^ x } else { sigma(x) }).to_u128()
            })
            .collect();
        let mut rank = 0;
        for bit in 0..128 {
            if let Some(pivot) = (rank..128).find(|row| columns[*row] >> bit & 1 == 1) {
                columns.swap(rank, pivot);
                let pivot = columns[rank];
                for (row, column) in columns.iter_mut().enumerate() {
                    if row != rank && *column >> bit & 1 == 1 {
                        *column ^= pivot;
                    }
                }
                rank += 1;
            }
        }
        assert_eq!(rank, 128);
    }
}

/// FIPS 197, appendix A.3: the last round key of AES-256.
#[test]
#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
fn schedules_wide_keys_as_fips_197() {
    let mut key = [0; 32];
    key[..16].copy_from_slice(&0x603d_eb10_15ca_71be_2b73_aef0_857d_7781_u128.to_be_bytes());
    key[16..].copy_from_slice(&0x1f35_2c07_3b61_08d7_2d98_10a3_0914_dff4_u128.to_be_bytes());
    if Backend::detect() == Backend::PORTABLE {
        return;
    }
    // SAFETY: the processor has the instructions of the level above portable.
    let rounds = unsafe { best::expand_wide(&key) };
    assert!(rounds[14] == Block::from(0xfe48_90d1_e618_8d0b_046d_f344_706c_631e_u128.swap_bytes()));
}

#[test]
fn wide_keystreams_are_encrypted_counters() {
    let key: [u8; 32] = core::array::from_fn(|i| 7 * i as u8);
    let reference = aes::Aes256::new(&key.into());
    for backend in Backend::available() {
        let scheduled = WideKey::new(backend, &key);
        for (first, count) in [(0, 0), (0, 1), (5, 8), ((1 << 32) - 3, 33)] {
            let mut out = vec![0; 16 * count];
            scheduled.keystream(first, &mut out);
            for (i, block) in out.as_chunks::<16>().0.iter().enumerate() {
                let mut expected = Block::from_halves(first + i as u64, 0).to_bytes();
                reference.encrypt_block((&mut expected).into());
                assert_eq!(*block, expected, "{backend:?} {count} {first} {i}");
            }
        }
    }
}
