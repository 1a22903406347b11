/* .npz files, and .npy files, which begin with the byte 0x93. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    const int is_npy = size > 0 && bytes[0] == 0x93;
    fuzz_reader(is_npy ? mha_npy_read : mha_npz_read, bytes, size);
    return 0;
}
