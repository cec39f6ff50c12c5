// BLAKE3 under a key, for inputs of one chunk: at most 1024 bytes.

#ifndef VESICA_BLAKE3_H
#define VESICA_BLAKE3_H

// Bytes of a block.
#define BLAKE3_BLOCK 64u
// Flags of a block.
#define BLAKE3_CHUNK_START 1u
#define BLAKE3_CHUNK_END 2u
#define BLAKE3_ROOT 8u
#define BLAKE3_KEYED_HASH 16u

FUNCTION u32 blake3_rotate(u32 word, int right) {
    return word >> right | word << (32 - right);
}

FUNCTION void blake3_quarter(u32 *a, u32 *b, u32 *c, u32 *d, u32 first, u32 second) {
    *a += *b + first;
    *d = blake3_rotate(*d ^ *a, 16);
    *c += *d;
    *b = blake3_rotate(*b ^ *c, 12);
    *a += *b + second;
    *d = blake3_rotate(*d ^ *a, 8);
    *c += *d;
    *b = blake3_rotate(*b ^ *c, 7);
}

// The compression function at counter 0: the first eight words of `out` are the next chaining value, and all sixteen
// are the output of a root block.
FUNCTION void blake3_compress(const u32 chaining[8], const u32 block[16], u32 length, u32 flags, u32 out[16]) {
    u32 v[16], words[16];
    UNROLLED for (int i = 0; i < 8; ++i) {
        v[i] = chaining[i];
    }
    v[8] = 0x6a09e667u;
    v[9] = 0xbb67ae85u;
    v[10] = 0x3c6ef372u;
    v[11] = 0xa54ff53au;
    v[12] = v[13] = 0;
    v[14] = length;
    v[15] = flags;
    UNROLLED for (int i = 0; i < 16; ++i) {
        words[i] = block[i];
    }
    UNROLLED for (int round = 0; round < 7; ++round) {
        UNROLLED for (int i = 0; i < 4; ++i) {
            blake3_quarter(&v[i], &v[4 + i], &v[8 + i], &v[12 + i], words[2 * i], words[2 * i + 1]);
        }
        UNROLLED for (int i = 0; i < 4; ++i) {
            blake3_quarter(&v[i], &v[4 + (i + 1) % 4], &v[8 + (i + 2) % 4], &v[12 + (i + 3) % 4], words[8 + 2 * i],
                           words[9 + 2 * i]);
        }
        const u32 permuted[16] = {words[2], words[6],  words[3],  words[10], words[7],  words[0], words[4], words[13],
                                  words[1], words[11], words[12], words[5],  words[9],  words[14], words[15], words[8]};
        UNROLLED for (int i = 0; i < 16; ++i) {
            words[i] = permuted[i];
        }
    }
    UNROLLED for (int i = 0; i < 8; ++i) {
        out[i] = v[i] ^ v[i + 8];
        out[i + 8] = v[i + 8] ^ chaining[i];
    }
}

// The first 64 bytes of the hash of an input of 1 to 1024 bytes.
FUNCTION void blake3_keyed(const u32 *key, const u8 *input, u32 length, u32 out[16]) {
    u32 chaining[8];
    UNROLLED for (int i = 0; i < 8; ++i) {
        chaining[i] = key[i];
    }
    ROLLED for (u32 first = 0; first < length; first += BLAKE3_BLOCK) {
        const u32 left = length - first;
        const u32 here = left < BLAKE3_BLOCK ? left : BLAKE3_BLOCK;
        u32 block[16];
        UNROLLED for (u32 i = 0; i < BLAKE3_BLOCK; i += 4) {
            u32 word = 0;
            UNROLLED for (u32 byte = i; byte < i + 4; ++byte) {
                word |= byte < here ? (u32)input[first + byte] << (8 * (byte - i)) : 0;
            }
            block[i / 4] = word;
        }
        const u32 flags = BLAKE3_KEYED_HASH | (first == 0 ? BLAKE3_CHUNK_START : 0) |
                          (left <= BLAKE3_BLOCK ? BLAKE3_CHUNK_END | BLAKE3_ROOT : 0);
        blake3_compress(chaining, block, here, flags, out);
        UNROLLED for (int i = 0; i < 8; ++i) {
            chaining[i] = out[i];
        }
    }
}

#endif
