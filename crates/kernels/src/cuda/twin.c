// The text of the kernels, compiled for the host: a test sends a request to the standard input and compares what comes
// back with the back ends of the processor (`twin.rs`).
//
// A request is seven words (operation, count, width, bins, slots, hashes, words of keys), the keys and the inputs.
// Operation 0 is `map_mul_encode` and 1 `decode_mul_encode`, whose answer begins with the first invalid element;
// 2 and 3 are `bloom_positions_narrow` and `_wide`, whose answer is the bins and then the slots. 4 is the arithmetic below
// the group: for numbers a and b of 256 bits a + b, a - b, a·b, a² and a, all reduced.

#include <stdio.h>
#include <stdlib.h>

#include "portable.h"
#include "words.h"
#include "field.h"
#include "root.h"
#include "edwards.h"
#include "ristretto.h"
#include "blake3.h"
#include "aes.h"
#include "bloom.h"

#include "kernels.cu"

enum { OPERATION, COUNT, WIDTH_OF_ITEM, BINS, SLOTS, HASHES, KEY_WORDS, WORDS };

static void *room(size_t bytes) {
    void *memory = calloc(bytes / sizeof(u64) + 1, sizeof(u64));
    if (memory == NULL) {
        exit(2);
    }
    return memory;
}

static void *read_all(size_t bytes) {
    void *memory = room(bytes);
    if (fread(memory, 1, bytes, stdin) != bytes) {
        exit(3);
    }
    return memory;
}

static void write_all(const void *memory, size_t bytes) {
    if (fwrite(memory, 1, bytes, stdout) != bytes) {
        exit(4);
    }
}

static void write_field(Field a) {
    const Field reduced = field_reduce(a);
    write_all(reduced.word, sizeof reduced.word);
}

static void field_operations(const u32 *inputs, u32 count) {
    for (u32 i = 0; i < count; ++i) {
        Field a, b;
        for (int word = 0; word < 8; ++word) {
            a.word[word] = inputs[16 * (size_t)i + word];
            b.word[word] = inputs[16 * (size_t)i + 8 + word];
        }
        write_field(field_add(a, b));
        write_field(field_sub(a, b));
        write_field(field_mul(a, b));
        write_field(field_square(a));
        write_field(a);
    }
}

int main(void) {
    const u32 *head = read_all(WORDS * sizeof(u32));
    const u32 count = head[COUNT], operation = head[OPERATION], width = head[WIDTH_OF_ITEM];
    const BloomShape shape = {head[BINS], head[SLOTS], head[HASHES], count};
    void *keys = read_all(head[KEY_WORDS] * sizeof(u32));
    void *inputs = read_all((size_t)width * count);
    if (operation == 4) {
        field_operations(inputs, count);
        return 0;
    }
    if (operation < 2) {
        u32 *out = room(32 * (size_t)count);
        u32 invalid = 0xffffffffu;
        if (operation == 0) {
            map_mul_encode(keys, inputs, out, count);
        } else {
            decode_mul_encode(keys, inputs, out, count, &invalid);
            write_all(&invalid, sizeof invalid);
        }
        write_all(out, 32 * (size_t)count);
        return 0;
    }
    u32 *bins = room(sizeof(u32) * (size_t)count), *slots = room(sizeof(u32) * (size_t)count * shape.hashes);
    const u32 *seed_key = keys, *rest = seed_key + 8;
    if (operation == 2) {
        const u32 pairs = (head[KEY_WORDS] - 8) / 8;
        u32 *round_keys = room(sizeof(u32) * 8 * (AES_ROUNDS + 1) * pairs);
        bloom_round_keys(rest, pairs, round_keys);
        bloom_positions_narrow(seed_key, round_keys, inputs, width, shape, bins, slots);
    } else {
        bloom_positions_wide(seed_key, rest, inputs, width, shape, bins, slots);
    }
    write_all(bins, sizeof(u32) * (size_t)count);
    write_all(slots, sizeof(u32) * (size_t)count * shape.hashes);
    return 0;
}
