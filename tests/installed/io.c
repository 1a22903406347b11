/* A user's program on libmha_io: writes an array to the file that its argument names, reads it back,
 * and is refused a file that does not exist with the text of libmha. */
#include <stdio.h>
#include <string.h>

#include <mha/io.h>
#include <mha/layouts.h>

int main(int argc, char **argv) {
    static const float numbers[6] = {1.0f, -2.0f, 0.5f, 0.0f, 3.0f, 7.0f};
    const mha_array array = {
        .name = "numbers", .dtype = MHA_FLOAT32, .rank = 2, .dims = {2, 3}, .data = numbers};
    mha_arrays *arrays = NULL;
    mha_error error = {MHA_OK, "the array is not what was written"};
    if (argc == 2 && mha_npz_write(argv[1], &array, 1, &error) == MHA_OK &&
        mha_npz_read(&arrays, argv[1], 0, &error) == MHA_OK) {
        const mha_array *found = mha_arrays_find(arrays, "numbers");
        const int same = found != NULL && mha_array_count(found) == 6 &&
                         memcmp(found->data, numbers, sizeof numbers) == 0;
        mha_arrays_free(arrays);
        if (same && strcmp(mha_layout_name(MHA_LAYOUT_TORCH), "torch") == 0 &&
            mha_npz_read(&arrays, "/no/such/file.npz", 0, &error) == MHA_ERROR_FILE &&
            strstr(error.text, "/no/such/file.npz") != NULL) {
            return 0;
        }
    }
    fprintf(stderr, "io: %s\n", error.text);
    return 1;
}
