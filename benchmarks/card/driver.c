// A library in the place of CUDA's driver, whose card is this machine: what `Card` does around the kernels can be tested
// without one (`without_card.sh`). It launches the kernels as `twin.c` compiles them, has little memory, so that there are
// several pieces, and fails if memory is freed before it is overwritten, or used beyond its end.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define main twin_main
#include "../../crates/kernels/src/cuda/twin.c"
#undef main

#define FREE_MEMORY ((size_t)1 << 17)
// Bytes after each buffer that nothing may write.
#define GUARD 64

typedef struct {
    size_t bytes;
    u64 padding[7];
} Buffer;

static void fail(const char *what) {
    fprintf(stderr, "driver.c: %s\n", what);
    abort();
}

static Buffer *buffer_of(u64 address) {
    return (Buffer *)(size_t)address - 1;
}

int cuInit(unsigned flags) {
    return (int)flags;
}

int cuDeviceGetCount(int *count) {
    *count = 1;
    return 0;
}

int cuDeviceGet(int *device, int number) {
    *device = number;
    return 0;
}

int cuDeviceGetName(char *name, int length, int device) {
    snprintf(name, (size_t)length, "this processor, in the place of card %d", device);
    return 0;
}

// Memory pools (115), and compute capability 9.0 (75, 76).
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 115 ? 1 : attribute == 75 ? 9 : 0;
    return device;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = &cuInit;
    return device;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    return device;
}

int cuCtxGetCurrent(void **context) {
    *context = NULL;
    return 0;
}

int cuCtxSetCurrent(void *context) {
    return context == NULL;
}

int cuCtxSynchronize(void) {
    return 0;
}

int cuStreamSynchronize(void *stream) {
    return stream != NULL;
}

int cuEventCreate(void **event, unsigned flags) {
    (void)flags;
    *event = &cuEventCreate;
    return 0;
}

int cuEventDestroy_v2(void *event) {
    return event == NULL;
}

int cuEventRecord(void *event, void *stream) {
    (void)stream;
    return event == NULL;
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
    (void)stream;
    (void)flags;
    return event == NULL;
}

int cuMemGetInfo_v2(size_t *unused, size_t *total) {
    *unused = *total = FREE_MEMORY;
    return 0;
}

int cuMemAllocAsync(u64 *address, size_t bytes, void *stream) {
    if (bytes == 0) {
        return 1;
    }
    Buffer *buffer = malloc(sizeof(Buffer) + bytes + GUARD);
    if (buffer == NULL) {
        return 2;
    }
    buffer->bytes = bytes;
    memset(buffer + 1, 0xa5, bytes + GUARD);
    *address = (u64)(size_t)(buffer + 1);
    return stream != NULL;
}

int cuMemFreeAsync(u64 address, void *stream) {
    Buffer *buffer = buffer_of(address);
    const u8 *bytes = (const u8 *)(buffer + 1);
    for (size_t i = 0; i < buffer->bytes + GUARD; ++i) {
        if (bytes[i] != (i < buffer->bytes ? 0 : 0xa5)) {
            fail(i < buffer->bytes ? "memory is freed with what it held" : "something wrote beyond a buffer");
        }
    }
    free(buffer);
    return stream != NULL;
}

int cuMemsetD8Async(u64 address, u8 value, size_t bytes, void *stream) {
    memset((void *)(size_t)address, value, bytes);
    return stream != NULL;
}

int cuMemcpyHtoDAsync_v2(u64 to, const void *from, size_t bytes, void *stream) {
    memcpy((void *)(size_t)to, from, bytes);
    return stream != NULL;
}

int cuMemcpyDtoHAsync_v2(void *to, u64 from, size_t bytes, void *stream) {
    memcpy(to, (const void *)(size_t)from, bytes);
    return stream != NULL;
}

int cuModuleLoadData(void **module, const void *image) {
    *module = (void *)image;
    return 0;
}

int cuModuleUnload(void *module) {
    return module == NULL;
}

static const char *const NAMES[] = {"map_mul_encode", "decode_mul_encode", "bloom_round_keys", "bloom_positions_narrow",
                                    "bloom_positions_wide"};

int cuModuleGetFunction(void **function, void *module, const char *name) {
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; ++i) {
        if (strcmp(NAMES[i], name) == 0) {
            *function = (void *)&NAMES[i];
            return module == NULL;
        }
    }
    return 500;
}

// An argument, as the kernel declares it.
#define ARGUMENT(type, number) (*(type *)arguments[number])
#define POINTER(type, number) ((type *)(size_t)ARGUMENT(u64, number))

static void expect_bytes(u64 address, size_t bytes) {
    if (buffer_of(address)->bytes != bytes) {
        fail("a buffer of another size than the kernel takes");
    }
}

int cuLaunchKernel(void *function, unsigned grid, unsigned grid_y, unsigned grid_z, unsigned block, unsigned block_y,
                   unsigned block_z, unsigned shared, void *stream, void **arguments, void **extra) {
    (void)extra;
    // A card that fails after so many launches.
    static size_t launches = 0;
    const char *most = getenv("VESICA_CARD_LAUNCHES");
    if (most != NULL && ++launches > strtoul(most, NULL, 10)) {
        return 719;
    }
    const size_t number = (size_t)((const char *const *)function - NAMES);
    u32 count;
    if (number < 2) {
        count = ARGUMENT(u32, 3);
        expect_bytes(ARGUMENT(u64, 0), 32);
        expect_bytes(ARGUMENT(u64, 1), (number == 0 ? 64 : 32) * (size_t)count);
        expect_bytes(ARGUMENT(u64, 2), 32 * (size_t)count);
    } else {
        count = number == 2 ? ARGUMENT(u32, 1) : ARGUMENT(BloomShape, 4).count;
    }
    if ((u64)grid * block < count || (u64)grid * block >= (u64)count + block || block != 128 || grid_y != 1 ||
        grid_z != 1 || block_y != 1 || block_z != 1 || shared != 0) {
        fail("a launch of other threads than one for each");
    }
    if (number == 0) {
        map_mul_encode(POINTER(u32, 0), POINTER(u32, 1), POINTER(u32, 2), count);
    } else if (number == 1) {
        decode_mul_encode(POINTER(u32, 0), POINTER(u32, 1), POINTER(u32, 2), count, POINTER(u32, 4));
    } else if (number == 2) {
        expect_bytes(ARGUMENT(u64, 0), 32 * (size_t)count);
        expect_bytes(ARGUMENT(u64, 2), 352 * (size_t)count);
        bloom_round_keys(POINTER(u32, 0), count, POINTER(u32, 2));
    } else {
        const u32 width = ARGUMENT(u32, 3);
        const BloomShape shape = ARGUMENT(BloomShape, 4);
        expect_bytes(ARGUMENT(u64, 0), 32);
        expect_bytes(ARGUMENT(u64, 2), (size_t)width * count);
        expect_bytes(ARGUMENT(u64, 5), 4 * (size_t)count);
        expect_bytes(ARGUMENT(u64, 6), 4 * (size_t)count * shape.hashes);
        (number == 3 ? bloom_positions_narrow : bloom_positions_wide)(
            POINTER(u32, 0), POINTER(u32, 1), POINTER(u8, 2), width, shape, POINTER(u32, 5), POINTER(u32, 6));
    }
    return stream != NULL;
}

int cuGetErrorName(int error, const char **name) {
    (void)error;
    *name = "error of driver.c";
    return 0;
}

int cuGetErrorString(int error, const char **text) {
    return cuGetErrorName(error, text);
}
