// The bin of an item and its slots in the slices of a Bloom filter, as `vesica_encode::bloom` defines them:
//
//   seed ‖ bin   = H(item)                           BLAKE3 under a key
//   block g      = π_g(σ(seed)) ⊕ σ(seed)            AES, seeds of 128 bits (narrow)
//                = H'(seed ‖ g)                      BLAKE3 under another key, seeds of 256 bits (wide)
//   slot 4g + j  = ⌊slots · word j of block g / 2^32⌋

#ifndef VESICA_BLOOM_H
#define VESICA_BLOOM_H

// Slices that get their slots from one block.
#define SLICES 4

// Bins, slots of a slice, slices, and how many items there are: the slots of one slice lie side by side.
typedef struct {
    u32 bins, slots, hashes, count;
} BloomShape;

// ⌊bins · word / 2^64⌋ for the word of 64 bits.
FUNCTION u32 bloom_bin(const u32 *hash, u32 bins) {
    return (u32)(((u64)hash[1] * bins + ((u64)hash[0] * bins >> 32)) >> 32);
}

// Writes the slots of an item in the slices of block `group`; the last block may have more words than slices are left.
FUNCTION void bloom_slots(BloomShape shape, u32 group, const u32 block[4], u32 *slots) {
    UNROLLED for (u32 j = 0; j < SLICES; ++j) {
        const u32 slice = SLICES * group + j;
        if (slice < shape.hashes) {
            slots[(u64)slice * shape.count] = (u32)((u64)block[j] * shape.slots >> 32);
        }
    }
}

// The slots for a seed of 128 bits. `round_keys` has those of two blocks after one another.
FUNCTION void bloom_narrow(BloomShape shape, const u32 seed[4], const u32 *round_keys, u32 *slots) {
    const u32 sigma[4] = {seed[2], seed[3], seed[0] ^ seed[2], seed[1] ^ seed[3]};
    const Slices input = aes_pack(sigma, sigma);
    ROLLED for (u32 group = 0; SLICES * group < shape.hashes; group += 2) {
        Slices output = aes_encrypt(input, round_keys + 4 * (AES_ROUNDS + 1) * group);
        aes_transpose(&output);
        UNROLLED for (int i = 0; i < 4; ++i) {
            output.plane[i] ^= sigma[i];
            output.plane[i + 4] ^= sigma[i];
        }
        bloom_slots(shape, group, output.plane, slots);
        bloom_slots(shape, group + 1, output.plane + 4, slots);
    }
}

// The slots for a seed of 256 bits: the hash of a block with the number of the group in its last six bytes.
FUNCTION void bloom_wide(BloomShape shape, const u32 seed[8], const u32 *key, u32 *slots) {
    u32 block[16], chaining[8], hash[16];
    UNROLLED for (int i = 0; i < 8; ++i) {
        block[i] = seed[i];
        block[i + 8] = 0;
        chaining[i] = key[i];
    }
    const u32 flags = BLAKE3_KEYED_HASH | BLAKE3_CHUNK_START | BLAKE3_CHUNK_END | BLAKE3_ROOT;
    ROLLED for (u32 group = 0; SLICES * group < shape.hashes; ++group) {
        block[14] = group << 16;
        block[15] = group >> 16;
        blake3_compress(chaining, block, BLAKE3_BLOCK, flags, hash);
        bloom_slots(shape, group, hash, slots);
    }
}

#endif
