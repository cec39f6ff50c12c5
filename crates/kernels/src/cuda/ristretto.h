// ristretto255: the map from uniform bytes, decoding and encoding of RFC 9496, section 4.3.

#ifndef VESICA_RISTRETTO_H
#define VESICA_RISTRETTO_H

// 1 - d².
FUNCTION Field one_minus_d_squared(void) {
    return field_of(0x945fc176u, 0xe27c09c1u, 0xcd5e350fu, 0x2c81a138u, 0xbe70dfe4u, 0x9994abddu, 0xb2b3e0d7u,
                    0x029072a8u);
}

// (d - 1)².
FUNCTION Field d_minus_one_squared(void) {
    return field_of(0x44ed4d20u, 0x31ad5aaau, 0xb01e1999u, 0xd29e4a2cu, 0x529b4eebu, 0x4cdcd32fu, 0xf66c2241u,
                    0x5968b37au);
}

// √(a·d - 1) with a = -1.
FUNCTION Field sqrt_ad_minus_one(void) {
    return field_of(0x497b2e1bu, 0x7e97f6a0u, 0x1b7854bdu, 0xaf9d8e0cu, 0x31f5d1fdu, 0x0f3cfcc9u, 0x2b8348acu,
                    0x376931bfu);
}

// 1 / √(a - d) with a = -1.
FUNCTION Field inverse_sqrt_a_minus_d(void) {
    return field_of(0x805d40eau, 0x99c8fdaau, 0x5a4172beu, 0x9d2f1617u, 0xfe01d840u, 0x16c27b91u, 0xcfaffca2u,
                    0x786c8905u);
}

// MAP of the RFC.
FUNCTION Point ristretto_elligator(Field t) {
    const Field one = field_small(1);
    const Field r = field_mul_once(field_mul_once(t, t), field_sqrt_m1());
    const Field u = field_mul_once(field_add(r, one), one_minus_d_squared());
    const Field minus_one_minus_rd = field_sub(field_negate(one), field_mul_once(r, edwards_d()));
    const Field v = field_mul_once(minus_one_minus_rd, field_add(r, edwards_d()));
    Field root;
    const Mask was_square = field_sqrt_ratio(u, v, &root);
    const Field s_prime = field_negate(field_abs(field_mul_once(root, t)));
    const Field s = field_select(was_square, root, s_prime);
    const Field c = field_select(was_square, field_negate(one), r);
    const Field n = field_sub(field_mul_once(field_mul_once(c, field_sub(r, one)), d_minus_one_squared()), v);
    const Field ss = field_mul_once(s, s);
    Fractions of;
    of.x = field_mul_once(field_add(s, s), v);
    of.z = field_mul_once(n, sqrt_ad_minus_one());
    of.y = field_sub(one, ss);
    of.t = field_add(one, ss);
    Point point;
    point_of(&point, of, 1);
    return point;
}

// The element that 64 uniform bytes map to: the sum of what the halves map to.
FUNCTION Point ristretto_map(const u32 *uniform) {
    Point sum;
    sum.x = sum.t = field_small(0);
    sum.y = sum.z = field_small(1);
    ROLLED for (int half = 0; half < 2; ++half) {
        const Point point = ristretto_elligator(field_load(uniform + 8 * half));
        const Summand summand = summand_of(&point);
        point_add_once(&sum, &summand, &sum);
    }
    return sum;
}

// The element with this encoding, and whether the encoding is canonical and not that of the identity. Otherwise the
// point is of no use.
FUNCTION Mask ristretto_decode(const u32 *encoded, Point *point) {
    const Field one = field_small(1);
    const Field s = field_load(encoded);
    const Field reduced = field_reduce(s);
    Mask valid = ~mask_of_bit(reduced.word[0]);
    UNROLLED for (int i = 0; i < 8; ++i) {
        valid &= mask_equal(reduced.word[i], encoded[i]);
    }
    const Field ss = field_mul_once(s, s);
    const Field u1 = field_sub(one, ss);
    const Field u2 = field_add(one, ss);
    const Field u2_squared = field_mul_once(u2, u2);
    const Field v = field_negate(field_add(field_mul_once(edwards_d(), field_mul_once(u1, u1)), u2_squared));
    Field inverse_root;
    valid &= field_sqrt_ratio(one, field_mul_once(v, u2_squared), &inverse_root);
    const Field den_x = field_mul_once(inverse_root, u2);
    const Field den_y = field_mul_once(field_mul_once(inverse_root, den_x), v);
    point->x = field_abs(field_mul_once(field_add(s, s), den_x));
    point->y = field_mul_once(u1, den_y);
    point->z = one;
    point->t = field_mul_once(point->x, point->y);
    // y = 0 implies t = 0, and t = 0 otherwise means x = 0, hence s = 0, the identity.
    return valid & ~field_is_negative(point->t) & ~field_is_zero(point->t);
}

// ENCODE of the RFC.
FUNCTION void ristretto_encode(const Point *point, u32 *encoded) {
    const Field u1 = field_mul_once(field_add(point->z, point->y), field_sub(point->z, point->y));
    const Field u2 = field_mul_once(point->x, point->y);
    Field inverse_root;
    field_sqrt_ratio(field_small(1), field_mul_once(u1, field_mul_once(u2, u2)), &inverse_root);
    const Field den1 = field_mul_once(inverse_root, u1);
    const Field den2 = field_mul_once(inverse_root, u2);
    const Field z_inverse = field_mul_once(field_mul_once(den1, den2), point->t);
    const Mask rotate = field_is_negative(field_mul_once(point->t, z_inverse));
    const Field x = field_select(rotate, field_mul_once(point->y, field_sqrt_m1()), point->x);
    const Field y = field_select(rotate, field_mul_once(point->x, field_sqrt_m1()), point->y);
    const Field den = field_select(rotate, field_mul_once(den1, inverse_sqrt_a_minus_d()), den2);
    const Field signed_y = field_negate_if(field_is_negative(field_mul_once(x, z_inverse)), y);
    const Field s = field_reduce(field_abs(field_mul_once(den, field_sub(point->z, signed_y))));
    UNROLLED for (int i = 0; i < 8; ++i) {
        encoded[i] = s.word[i];
    }
}

// scalar·point, encoded. Both kernels call it, so that it is compiled once.
CALLED void ristretto_multiply_encode(const u32 *scalar, const Point *point, u32 *encoded) {
    const Point product = point_multiply(scalar, *point);
    ristretto_encode(&product, encoded);
}

#endif
