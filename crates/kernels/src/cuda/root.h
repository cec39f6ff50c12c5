// Square roots of fractions: a fixed power.

#ifndef VESICA_ROOT_H
#define VESICA_ROOT_H

// A square root of -1, as in RFC 9496.
FUNCTION Field field_sqrt_m1(void) {
    return field_of(0x4a0ea0b0u, 0xc4ee1b27u, 0xad2fe478u, 0x2f431806u, 0x3dfbd7a7u, 0x2b4d0099u, 0x4fc1df0bu,
                    0x2b832480u);
}

// a^(2^count).
FUNCTION Field field_square_times(Field a, u32 count) {
    ROLLED for (u32 i = 0; i < count; ++i) {
        a = field_square(a);
    }
    return a;
}

// a^((p - 5) / 8), the exponent being 2^252 - 3 = (2^250 - 1)·2^2 + 1. The names give n in a^(2^n - 1).
CALLED Field field_power(Field a) {
    const Field a2 = field_square(a);
    const Field a9 = field_mul(field_square_times(a2, 2), a);
    const Field a11 = field_mul(a9, a2);
    Field n = field_mul(field_square(a11), a9);
    // 5 to 10, 20, 40; to 50 with n10; to 100, 200; to 250 with n50. Each byte is a number of squarings, the first one
    // lowest: 5, 10, 20, 10, 50, 100, 50.
    const u64 counts = 0x3264320a140a05ull;
    Field n10 = n, n50 = n;
    ROLLED for (int step = 0; step < 7; ++step) {
        const Field factor = step == 3 ? n10 : step == 6 ? n50 : n;
        n = field_mul(field_square_times(n, (u32)(counts >> (8 * step)) & 0xff), factor);
        n10 = step == 0 ? n : n10;
        n50 = step == 3 ? n : n50;
    }
    return field_mul(field_square_times(n, 2), a);
}

// SQRT_RATIO_M1 of RFC 9496: whether u/v is a square, and the non-negative square root of u/v or else of i·u/v. The
// root is zero where u or v is; a square is reported if u is zero, not if only v is.
FUNCTION Mask field_sqrt_ratio(Field u, Field v, Field *root) {
    const Field i = field_sqrt_m1();
    const Field v3 = field_mul_once(field_mul_once(v, v), v);
    const Field v7 = field_mul_once(field_mul_once(v3, v3), v);
    const Field candidate = field_mul_once(field_mul_once(u, v3), field_power(field_mul_once(u, v7)));
    // The candidate is a square root of ±u/v or of ±i·u/v; which one shows in its square.
    const Field check = field_mul_once(field_mul_once(candidate, candidate), v);
    const Field minus_u = field_negate(u);
    const Mask correct = field_equal(check, u);
    const Mask flipped = field_equal(check, minus_u);
    const Mask flipped_i = field_equal(check, field_mul_once(minus_u, i));
    *root = field_abs(field_select(flipped | flipped_i, field_mul_once(candidate, i), candidate));
    return correct | flipped;
}

#endif
