// One text in two languages: CUDA C++ on a card, C on the host.
//
// The host compiles it for the tests (`twin.c`), which compare it with the back ends of the processor. Numbers and
// bytes lie in memory as on the card, the lowest byte first.

#ifndef VESICA_PORTABLE_H
#define VESICA_PORTABLE_H

#ifdef __CUDACC__
// A function that is compiled into its caller, and one that is called.
#define FUNCTION static __host__ __device__ __forceinline__
#define CALLED static __host__ __device__ __noinline__
#define KERNEL extern "C" __global__ void
// Threads of a block, and blocks that a multiprocessor holds at least.
#define BLOCK_OF(threads, blocks) __launch_bounds__(threads, blocks)
// A loop whose body is compiled once, and one whose body is compiled for each round.
#define ROLLED _Pragma("unroll 1")
#define UNROLLED _Pragma("unroll")
// A thread for each number below the count.
#define EACH(number, count)                                                                                            \
    const u32 number = blockIdx.x * blockDim.x + threadIdx.x;                                                          \
    if (number < (count))
#define LOWER(address, value) atomicMin(address, value)
#else
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the card's byte order is little-endian, and so must be the host's"
#endif
#define FUNCTION static inline
#define CALLED static
#define KERNEL static void
#define BLOCK_OF(threads, blocks)
#define ROLLED
#define UNROLLED
#define EACH(number, count) for (u32 number = 0; number < (count); ++number)
#define LOWER(address, value) (*(address) = *(address) < (value) ? *(address) : (value))
#endif

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

// All ones for true, zero for false. Secret conditions are masks and select by AND; nothing branches on them.
typedef u32 Mask;

// Whether two numbers are equal.
FUNCTION Mask mask_equal(u32 a, u32 b) {
    const u32 difference = a ^ b;
    return ((difference | (0 - difference)) >> 31) - 1;
}

// Whether the lowest bit is set.
FUNCTION Mask mask_of_bit(u32 bit) {
    return 0 - (bit & 1);
}

#endif
