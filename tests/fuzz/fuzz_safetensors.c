#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_reader(mha_safetensors_read, bytes, size);
    return 0;
}
