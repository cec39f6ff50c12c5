// Arithmetic modulo p = 2^255 - 19 in eight words.
//
// An element is any number below 2^256 with the right remainder; only `field_reduce` makes it unique. 2^256 = 38
// modulo p, so what overflows comes back 38-fold. Nothing here branches on a value or indexes by one.

#ifndef VESICA_FIELD_H
#define VESICA_FIELD_H

typedef struct {
    u32 word[8];
} Field;

FUNCTION Field field_of(u32 word0, u32 word1, u32 word2, u32 word3, u32 word4, u32 word5, u32 word6, u32 word7) {
    Field a;
    a.word[0] = word0;
    a.word[1] = word1;
    a.word[2] = word2;
    a.word[3] = word3;
    a.word[4] = word4;
    a.word[5] = word5;
    a.word[6] = word6;
    a.word[7] = word7;
    return a;
}

FUNCTION Field field_small(u32 value) {
    return field_of(value, 0, 0, 0, 0, 0, 0, 0);
}

// The element that 32 bytes encode, without their highest bit.
FUNCTION Field field_load(const u32 *words) {
    Field a;
    UNROLLED for (int i = 0; i < 8; ++i) {
        a.word[i] = words[i];
    }
    a.word[7] &= 0x7fffffffu;
    return a;
}

// a + above·2^256 for small `above`. If adding 38·above overflows, then what is left is below 38·above, and the last
// addition does not overflow.
FUNCTION Field field_fold(Field a, u32 above) {
    Carry carry = 0;
    a.word[0] = add_first(a.word[0], 38 * above, &carry);
    UNROLLED for (int i = 1; i < 8; ++i) {
        a.word[i] = add_next(a.word[i], 0, &carry);
    }
    a.word[0] += 38 * add_next(0, 0, &carry);
    return a;
}

FUNCTION Field field_add(Field a, Field b) {
    Carry carry = 0;
    a.word[0] = add_first(a.word[0], b.word[0], &carry);
    UNROLLED for (int i = 1; i < 8; ++i) {
        a.word[i] = add_next(a.word[i], b.word[i], &carry);
    }
    return field_fold(a, add_next(0, 0, &carry));
}

// As in `field_fold`: if taking 38 borrows, then at least 2^256 - 38 is left, and the last subtraction does not borrow.
FUNCTION Field field_sub(Field a, Field b) {
    Carry borrow = 0;
    a.word[0] = sub_first(a.word[0], b.word[0], &borrow);
    UNROLLED for (int i = 1; i < 8; ++i) {
        a.word[i] = sub_next(a.word[i], b.word[i], &borrow);
    }
    // 0 - 0 with a borrow is a word of ones.
    const u32 below = sub_next(0, 0, &borrow);
    a.word[0] = sub_first(a.word[0], 38 & below, &borrow);
    UNROLLED for (int i = 1; i < 8; ++i) {
        a.word[i] = sub_next(a.word[i], 0, &borrow);
    }
    a.word[0] -= 38 & sub_next(0, 0, &borrow);
    return a;
}

FUNCTION Field field_negate(Field a) {
    return field_sub(field_small(0), a);
}

// The number of 16 words, modulo p: the products of the upper words with 38, those of even and of odd words apart.
FUNCTION Field field_fold_product(const u32 *product) {
    Field a;
    u32 odd[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    Carry carry = 0;
    UNROLLED for (int i = 0; i < 8; ++i) {
        a.word[i] = product[i];
    }
    words_add_products(odd, product + 9, 4, 38, &carry);
    words_add_products(a.word, product + 8, 4, 38, &carry);
    u32 above = add_next(0, 0, &carry);
    a.word[1] = add_first(a.word[1], odd[0], &carry);
    UNROLLED for (int i = 1; i < 7; ++i) {
        a.word[i + 1] = add_next(a.word[i + 1], odd[i], &carry);
    }
    above = add_next(above, odd[7], &carry);
    return field_fold(a, above);
}

// even + odd·2^32, whose sum has 16 words.
FUNCTION void field_join(u32 *even, const u32 *odd) {
    Carry carry = 0;
    even[1] = add_first(even[1], odd[0], &carry);
    UNROLLED for (int i = 1; i < 15; ++i) {
        even[i + 1] = add_next(even[i + 1], odd[i], &carry);
    }
}

// The product a[i]·b[j] has two words, and i + j says where. Those for even i + j add up in `even`, the others in
// `odd`, which stands one word higher, so that a chain adds whole products. The second chain of a round ends on two words
// of which only a carry of the round before has reached the lower: the product and two carries fit into them.
FUNCTION Field field_mul(Field a, Field b) {
    u32 even[17] = {0}, odd[16] = {0};
    UNROLLED for (int i = 0; i < 8; ++i) {
        Carry carry = 0;
        u32 *const first = i % 2 == 0 ? even + i : odd + i - 1;
        u32 *const second = i % 2 == 0 ? odd + i : even + i + 1;
        words_add_products(first, a.word, 4, b.word[i], &carry);
        first[8] = add_next(first[8], 0, &carry);
        words_add_products(second, a.word + 1, 4, b.word[i], &carry);
    }
    field_join(even, odd);
    return field_fold_product(even);
}

// The products of different words count twice, those of equal ones once.
FUNCTION Field field_square(Field a) {
    u32 even[17] = {0}, odd[16] = {0};
    Carry carry = 0;
    UNROLLED for (int i = 0; i < 7; ++i) {
        // With a[i + 1], a[i + 3], …, whose i + j is odd, and with a[i + 2], a[i + 4], …
        const int others = (8 - i) / 2, same = (7 - i) / 2;
        words_add_products(odd + 2 * i, a.word + i + 1, others, a.word[i], &carry);
        odd[2 * i + 2 * others] = add_next(odd[2 * i + 2 * others], 0, &carry);
        if (same > 0) {
            words_add_products(even + 2 * i + 2, a.word + i + 2, same, a.word[i], &carry);
            even[2 * i + 2 + 2 * same] = add_next(even[2 * i + 2 + 2 * same], 0, &carry);
        }
    }
    field_join(even, odd);
    UNROLLED for (int i = 15; i > 0; --i) {
        even[i] = even[i] << 1 | even[i - 1] >> 31;
    }
    even[0] = mul_low_first(a.word[0], a.word[0], 0, &carry);
    even[1] = mul_high_next(a.word[0], a.word[0], even[1], &carry);
    UNROLLED for (int i = 1; i < 8; ++i) {
        even[2 * i] = mul_low_next(a.word[i], a.word[i], even[2 * i], &carry);
        even[2 * i + 1] = mul_high_next(a.word[i], a.word[i], even[2 * i + 1], &carry);
    }
    return field_fold_product(even);
}

// The same, for what an element needs once: called, so that there is less to compile.
CALLED Field field_mul_once(Field a, Field b) {
    return field_mul(a, b);
}

// a + 19·above modulo 2^255, where that many times 2^255 are taken away.
FUNCTION Field field_fold_top(Field a, u32 above) {
    Carry carry = 0;
    a.word[0] = add_first(a.word[0], 19 * above, &carry);
    UNROLLED for (int i = 1; i < 8; ++i) {
        a.word[i] = add_next(a.word[i], 0, &carry);
    }
    a.word[7] &= 0x7fffffffu;
    return a;
}

// The remainder below p. With the highest bit folded, a < 2^255 + 19 < 2p, and a >= p shows as the highest bit of
// a + 19.
FUNCTION Field field_reduce(Field a) {
    const u32 top = a.word[7] >> 31;
    Carry carry = 0;
    a.word[7] &= 0x7fffffffu;
    a.word[0] = add_first(a.word[0], 19 * top, &carry);
    UNROLLED for (int i = 1; i < 8; ++i) {
        a.word[i] = add_next(a.word[i], 0, &carry);
    }
    u32 last = 0;
    add_first(a.word[0], 19, &carry);
    UNROLLED for (int i = 1; i < 8; ++i) {
        last = add_next(a.word[i], 0, &carry);
    }
    return field_fold_top(a, last >> 31);
}

// Whether the reduced element is odd, "negative" in RFC 9496.
FUNCTION Mask field_is_negative(Field a) {
    return mask_of_bit(field_reduce(a).word[0]);
}

FUNCTION Mask field_is_zero(Field a) {
    const Field reduced = field_reduce(a);
    u32 any = 0;
    UNROLLED for (int i = 0; i < 8; ++i) {
        any |= reduced.word[i];
    }
    return mask_equal(any, 0);
}

FUNCTION Mask field_equal(Field a, Field b) {
    return field_is_zero(field_sub(a, b));
}

// a where the mask is set, else b.
FUNCTION Field field_select(Mask mask, Field a, Field b) {
    UNROLLED for (int i = 0; i < 8; ++i) {
        b.word[i] ^= mask & (a.word[i] ^ b.word[i]);
    }
    return b;
}

FUNCTION Field field_negate_if(Mask mask, Field a) {
    return field_select(mask, field_negate(a), a);
}

FUNCTION Field field_abs(Field a) {
    return field_negate_if(field_is_negative(a), a);
}

#endif
