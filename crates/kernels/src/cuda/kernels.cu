// The kernels: one thread for each element or item. The other files of this folder come before this one, in the order
// of `twin.c`; on the host a kernel is a loop.

// scalar·map(uniform), encoded: 32 bytes of the scalar, 64 and 32 for each element.
KERNEL BLOCK_OF(128, 3) map_mul_encode(const u32 *scalar, const u32 *uniform, u32 *out, u32 count) {
    EACH(element, count) {
        const Point point = ristretto_map(uniform + 16ull * element);
        ristretto_multiply_encode(scalar, &point, out + 8ull * element);
    }
}

// scalar·decode(encoded), encoded. `invalid` becomes the number of the first element that does not decode, if that is
// lower; what stands in its place is of no use.
KERNEL BLOCK_OF(128, 3)
decode_mul_encode(const u32 *scalar, const u32 *encoded, u32 *out, u32 count, u32 *invalid) {
    EACH(element, count) {
        Point point;
        const Mask valid = ristretto_decode(encoded + 8ull * element, &point);
        // Whether the peer's message is valid is no secret: the run ends if it is not.
        if (!valid) {
            LOWER(invalid, element);
        }
        ristretto_multiply_encode(scalar, &point, out + 8ull * element);
    }
}

// The round keys of pairs of AES keys.
KERNEL bloom_round_keys(const u32 *keys, u32 pairs, u32 *round_keys) {
    EACH(pair, pairs) {
        aes_round_keys(keys + 8 * pair, keys + 8 * pair + 4, round_keys + 8 * (AES_ROUNDS + 1) * pair);
    }
}

// Bins and slots of items of `width` bytes: up to 128 hash functions.
KERNEL BLOCK_OF(128, 4)
bloom_positions_narrow(const u32 *seed_key, const u32 *round_keys, const u8 *items, u32 width, BloomShape shape,
                       u32 *bins, u32 *slots) {
    EACH(item, shape.count) {
        u32 hash[16];
        blake3_keyed(seed_key, items + (u64)width * item, width, hash);
        bins[item] = bloom_bin(hash + 4, shape.bins);
        bloom_narrow(shape, hash, round_keys, slots + item);
    }
}

// The same for more than 128.
KERNEL BLOCK_OF(128, 4)
bloom_positions_wide(const u32 *seed_key, const u32 *block_key, const u8 *items, u32 width, BloomShape shape, u32 *bins,
                     u32 *slots) {
    EACH(item, shape.count) {
        u32 hash[16];
        blake3_keyed(seed_key, items + (u64)width * item, width, hash);
        bins[item] = bloom_bin(hash + 8, shape.bins);
        bloom_wide(shape, hash, block_key, slots + item);
    }
}
