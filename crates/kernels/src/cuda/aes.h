// AES-128 of two blocks at once, each under a key of its own, bit by bit: no table, so no address depends on a block.
//
// Plane b holds bit b of all 32 bytes. Byte r of a plane belongs to row r of the state: its lowest four bits to the
// columns of the first block, the others to those of the second.

#ifndef VESICA_AES_H
#define VESICA_AES_H

#define AES_ROUNDS 10

typedef struct {
    u32 plane[8];
} Slices;

// Exchanges the bits of `mask` in b with those that lie `shift` higher in a.
FUNCTION void aes_exchange(u32 *a, u32 *b, u32 mask, int shift) {
    const u32 difference = (*a >> shift ^ *b) & mask;
    *b ^= difference;
    *a ^= difference << shift;
}

// Bit b of byte r in word c becomes bit c of byte r in word b, and back.
FUNCTION void aes_transpose(Slices *words) {
    UNROLLED for (int i = 0; i < 8; i += 2) {
        aes_exchange(&words->plane[i], &words->plane[i + 1], 0x55555555u, 1);
    }
    UNROLLED for (int i = 0; i < 4; ++i) {
        const int first = i / 2 * 4 + i % 2;
        aes_exchange(&words->plane[first], &words->plane[first + 2], 0x33333333u, 2);
    }
    UNROLLED for (int i = 0; i < 4; ++i) {
        aes_exchange(&words->plane[i], &words->plane[i + 4], 0x0f0f0f0fu, 4);
    }
}

// The planes of two blocks, four columns each.
FUNCTION Slices aes_pack(const u32 *first, const u32 *second) {
    Slices slices;
    UNROLLED for (int i = 0; i < 4; ++i) {
        slices.plane[i] = first[i];
        slices.plane[i + 4] = second[i];
    }
    aes_transpose(&slices);
    return slices;
}

// SubBytes: the circuit of Boyar, Peralta and Calik with 113 gates (SLP_AES_113, with its names), without the four NOT,
// which `aes_round_keys` adds to the round keys.
FUNCTION void aes_sub_bytes(Slices *state) {
    const u32 u7 = state->plane[0], u6 = state->plane[1], u5 = state->plane[2], u4 = state->plane[3];
    const u32 u3 = state->plane[4], u2 = state->plane[5], u1 = state->plane[6], u0 = state->plane[7];
    const u32 y14 = u3 ^ u5, y13 = u0 ^ u6, y12 = y13 ^ y14, t1 = u4 ^ y12, y15 = t1 ^ u5, t2 = y12 & y15;
    const u32 y6 = y15 ^ u7, y20 = t1 ^ u1, y9 = u0 ^ u3, y11 = y20 ^ y9, t12 = y9 & y11, y7 = u7 ^ y11;
    const u32 y8 = u0 ^ u5, t0 = u1 ^ u2, y10 = y15 ^ t0, y17 = y10 ^ y11, t13 = y14 & y17, t14 = t13 ^ t12;
    const u32 y19 = y10 ^ y8, t15 = y8 & y10, t16 = t15 ^ t12, y16 = t0 ^ y11, y21 = y13 ^ y16, t7 = y13 & y16;
    const u32 y18 = u0 ^ y16, y1 = t0 ^ u7, y4 = y1 ^ u3, t5 = y4 & u7, t6 = t5 ^ t2, t18 = t6 ^ t16;
    const u32 t22 = t18 ^ y19, y2 = y1 ^ u0, t10 = y2 & y7, t11 = t10 ^ t7, t20 = t11 ^ t16, t24 = t20 ^ y18;
    const u32 y5 = y1 ^ u6, t8 = y5 & y1, t9 = t8 ^ t7, t19 = t9 ^ t14, t23 = t19 ^ y21, y3 = y5 ^ y8;
    const u32 t3 = y3 & y6, t4 = t3 ^ t2, t17 = t4 ^ y20, t21 = t17 ^ t14, t26 = t21 & t23, t27 = t24 ^ t26;
    const u32 t31 = t22 ^ t26, t25 = t21 ^ t22, t28 = t25 & t27, t29 = t28 ^ t22, z14 = t29 & y2, z5 = t29 & y7;
    const u32 t30 = t23 ^ t24, t32 = t31 & t30, t33 = t32 ^ t24, t35 = t27 ^ t33, t36 = t24 & t35;
    const u32 t38 = t27 ^ t36, t39 = t29 & t38, t40 = t25 ^ t39, t43 = t29 ^ t40, z3 = t43 & y16, tc12 = z3 ^ z5;
    const u32 z12 = t43 & y13, z13 = t40 & y5, z4 = t40 & y1, tc6 = z3 ^ z4, t34 = t23 ^ t33, t37 = t36 ^ t34;
    const u32 t41 = t40 ^ t37, z8 = t41 & y10, z17 = t41 & y8, t44 = t33 ^ t37, z0 = t44 & y15, z9 = t44 & y12;
    const u32 z10 = t37 & y3, z1 = t37 & y6, tc5 = z1 ^ z0, tc11 = tc6 ^ tc5, z11 = t33 & y4, t42 = t29 ^ t33;
    const u32 t45 = t42 ^ t41, z7 = t45 & y17, tc8 = z7 ^ tc6, z16 = t45 & y14, z6 = t42 & y11, tc16 = z6 ^ tc8;
    const u32 z15 = t42 & y9, tc20 = z15 ^ tc16, tc1 = z15 ^ z16, tc2 = z10 ^ tc1, tc21 = tc2 ^ z11;
    const u32 tc3 = z9 ^ tc2, s0 = tc3 ^ tc16, s3 = tc3 ^ tc11, s1 = s3 ^ tc16, tc13 = z13 ^ tc1, z2 = t33 & u7;
    const u32 tc4 = z0 ^ z2, tc7 = z12 ^ tc4, tc9 = z8 ^ tc7, tc10 = tc8 ^ tc9, tc17 = z14 ^ tc10;
    const u32 s5 = tc21 ^ tc17, tc26 = tc17 ^ tc20, s2 = tc26 ^ z17, tc14 = tc4 ^ tc12, tc18 = tc13 ^ tc14;
    const u32 s6 = tc10 ^ tc18, s7 = z12 ^ tc18, s4 = tc14 ^ s3;
    state->plane[0] = s7;
    state->plane[1] = s6;
    state->plane[2] = s5;
    state->plane[3] = s4;
    state->plane[4] = s3;
    state->plane[5] = s2;
    state->plane[6] = s1;
    state->plane[7] = s0;
}

// What SubBytes leaves out: the bits of 0x63, in all bytes.
FUNCTION void aes_add_constant(Slices *state) {
    state->plane[0] = ~state->plane[0];
    state->plane[1] = ~state->plane[1];
    state->plane[5] = ~state->plane[5];
    state->plane[6] = ~state->plane[6];
}

// ShiftRows: row r turns by r columns.
FUNCTION void aes_shift_rows(Slices *state) {
    UNROLLED for (int i = 0; i < 8; ++i) {
        const u32 x = state->plane[i];
        state->plane[i] = (x & 0x000000ffu) | (x >> 1 & 0x00007700u) | (x << 3 & 0x00008800u) | (x >> 2 & 0x00330000u) |
                          (x << 2 & 0x00cc0000u) | (x >> 3 & 0x11000000u) | (x << 1 & 0xee000000u);
    }
}

FUNCTION u32 aes_next_row(u32 plane) {
    return plane >> 8 | plane << 24;
}

// MixColumns: row r becomes 2·(r + next) + next + the two after it, where 2·7 carries into the bits of 0x1b.
FUNCTION void aes_mix_columns(Slices *state) {
    u32 next[8], sum[8];
    UNROLLED for (int i = 0; i < 8; ++i) {
        next[i] = aes_next_row(state->plane[i]);
        sum[i] = state->plane[i] ^ next[i];
    }
    UNROLLED for (int i = 0; i < 8; ++i) {
        const u32 doubled = (i > 0 ? sum[i - 1] : 0) ^ (i == 0 || i == 1 || i == 3 || i == 4 ? sum[7] : 0);
        state->plane[i] = doubled ^ next[i] ^ aes_next_row(aes_next_row(sum[i]));
    }
}

FUNCTION void aes_add_key(Slices *state, const u32 *key) {
    UNROLLED for (int i = 0; i < 8; ++i) {
        state->plane[i] ^= key[i];
    }
}

// The round keys of two keys, eight planes a round; all but the first with the constant of SubBytes.
FUNCTION void aes_round_keys(const u32 *first, const u32 *second, u32 *round_keys) {
    u32 key[8];
    UNROLLED for (int i = 0; i < 4; ++i) {
        key[i] = first[i];
        key[i + 4] = second[i];
    }
    u32 constant = 1;
    ROLLED for (int round = 0; round <= AES_ROUNDS; ++round) {
        Slices planes = aes_pack(key, key + 4);
        if (round > 0) {
            aes_add_constant(&planes);
        }
        UNROLLED for (int i = 0; i < 8; ++i) {
            round_keys[8 * round + i] = planes.plane[i];
        }
        // The next key: SubWord of the last column, turned by a byte, into the first column; then one into the next.
        const u32 last[4] = {aes_next_row(key[3]), 0, 0, 0}, other[4] = {aes_next_row(key[7]), 0, 0, 0};
        Slices words = aes_pack(last, other);
        aes_sub_bytes(&words);
        aes_add_constant(&words);
        aes_transpose(&words);
        UNROLLED for (int i = 0; i < 8; i += 4) {
            key[i] ^= words.plane[i] ^ constant;
            UNROLLED for (int column = 1; column < 4; ++column) {
                key[i + column] ^= key[i + column - 1];
            }
        }
        constant = constant << 1 ^ (0x11b & (0 - (constant >> 7)));
    }
}

// Both blocks, encrypted.
FUNCTION Slices aes_encrypt(Slices state, const u32 *round_keys) {
    aes_add_key(&state, round_keys);
    ROLLED for (int round = 1; round < AES_ROUNDS; ++round) {
        aes_sub_bytes(&state);
        aes_shift_rows(&state);
        aes_mix_columns(&state);
        aes_add_key(&state, round_keys + 8 * round);
    }
    aes_sub_bytes(&state);
    aes_shift_rows(&state);
    aes_add_key(&state, round_keys + 8 * AES_ROUNDS);
    return state;
}

#endif
