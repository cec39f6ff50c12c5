// Words of 32 bits with a carry between them, the lowest word first.
//
// On the card each function is one instruction, and the carry is a flag of the processor: it goes from one volatile
// statement to the next, and nothing else in these files uses it. On the host it is the argument `carry`. So both run
// the same chains, and only the functions of this file differ.

#ifndef VESICA_WORDS_H
#define VESICA_WORDS_H

// A carry or borrow: 0 or 1.
typedef u32 Carry;

#ifdef __CUDA_ARCH__
#define ADDING(name, instruction)                                                                                      \
    FUNCTION u32 name(u32 a, u32 b, Carry *carry) {                                                                    \
        u32 result;                                                                                                    \
        asm volatile(instruction " %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));                                      \
        return result;                                                                                                 \
    }
#define MULTIPLYING(name, instruction)                                                                                 \
    FUNCTION u32 name(u32 a, u32 b, u32 c, Carry *carry) {                                                             \
        u32 result;                                                                                                    \
        asm volatile(instruction " %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));                          \
        return result;                                                                                                 \
    }
#else
#define ADDING(name, wide)                                                                                             \
    FUNCTION u32 name(u32 a, u32 b, Carry *carry) {                                                                    \
        const u64 result = (wide);                                                                                     \
        *carry = (u32)(result >> 32) & 1;                                                                              \
        return (u32)result;                                                                                            \
    }
#define MULTIPLYING(name, wide)                                                                                        \
    FUNCTION u32 name(u32 a, u32 b, u32 c, Carry *carry) {                                                             \
        const u64 product = (u64)a * b, result = (wide);                                                               \
        *carry = (u32)(result >> 32);                                                                                  \
        return (u32)result;                                                                                            \
    }
#endif

#ifdef __CUDA_ARCH__
ADDING(add_first, "add.cc.u32")
ADDING(add_next, "addc.cc.u32")
ADDING(sub_first, "sub.cc.u32")
ADDING(sub_next, "subc.cc.u32")
MULTIPLYING(mul_low_first, "mad.lo.cc.u32")
MULTIPLYING(mul_low_next, "madc.lo.cc.u32")
MULTIPLYING(mul_high_next, "madc.hi.cc.u32")
#else
// a + b and a - b; `next` with the carry or borrow of the word before.
ADDING(add_first, (u64)a + b)
ADDING(add_next, (u64)a + b + *carry)
ADDING(sub_first, (u64)a - b)
ADDING(sub_next, (u64)a - b - *carry)
// The low or the high word of a·b, plus c.
MULTIPLYING(mul_low_first, (u64)(u32)product + c)
MULTIPLYING(mul_low_next, (u64)(u32)product + c + *carry)
MULTIPLYING(mul_high_next, (product >> 32) + c + *carry)
#endif

// sum[0 .. 2n] += Σ_i a[2i]·b·2^(64i), without what that carries out of the 2n words. The first product begins a chain.
FUNCTION void words_add_products(u32 *sum, const u32 *a, int n, u32 b, Carry *carry) {
    UNROLLED for (int i = 0; i < 2 * n; i += 2) {
        sum[i] = i == 0 ? mul_low_first(a[i], b, sum[i], carry) : mul_low_next(a[i], b, sum[i], carry);
        sum[i + 1] = mul_high_next(a[i], b, sum[i + 1], carry);
    }
}

#endif
