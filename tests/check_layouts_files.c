/* Weights in files: round trips without a bit lost, what is refused to be written, and the layer's
 * results with the weights of another program. */
#include "check_layouts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <mha/mha64.h>

#include "array_assert.h"
#include "folder.h"
#include "weights_file.h"

/* numpy.savez_compressed of the state_dict() of a torch.nn.MultiheadAttention(2, 2, bias=False) in
 * float64, made with PyTorch 1.13 and NumPy 1.24. */
static const char torch_state[] =
    "\x50\x4b\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00\x21\x00\x24\x47\xfb\x69\xab\x00\x00\x00\xe0"
    "\x00\x00\x00\x12\x00\x14\x00\x69\x6e\x5f\x70\x72\x6f\x6a\x5f\x77\x65\x69\x67\x68\x74\x2e\x6e"
    "\x70\x79\x01\x00\x10\x00\xe0\x00\x00\x00\x00\x00\x00\x00\xab\x00\x00\x00\x00\x00\x00\x00\x9b"
    "\xec\x17\xea\x1b\x10\xc9\xc8\x50\xc6\x50\xad\x9e\x92\x5a\x9c\x5c\xa4\x6e\xa5\xa0\x6e\x93\x66"
    "\xa1\xae\xa3\xa0\x9e\x96\x5f\x54\x52\x94\x98\x17\x9f\x5f\x94\x92\x0a\x12\x77\x4b\xcc\x29\x4e"
    "\x05\x8a\x17\x67\x24\x16\xa4\x02\xf9\x1a\x66\x3a\x0a\x46\x9a\x3a\x0a\xb5\x0a\x64\x03\x2e\x6b"
    "\x01\xce\x19\x75\xdf\xbe\xed\x57\xb9\xf1\x86\x57\xde\xfd\xbd\x3d\xcb\xbc\x0a\xa1\x45\x5b\x1e"
    "\xd8\x67\x30\x3f\xdf\xd3\x78\xee\xb3\xfd\x74\x3b\x53\x63\x89\xd5\xaf\xf7\x07\x45\x27\xac\xd2"
    "\x51\xba\x6c\x6f\x72\xba\xa8\xba\xea\xca\x2d\xfb\x15\x7f\x02\x0c\x42\x0b\xb7\xec\x97\x34\xda"
    "\x15\xa0\xb1\xf4\xad\x3d\x5f\x5a\xc6\x1e\x76\xa9\x57\xf6\x9f\xbe\xbf\xb0\xd1\xdd\x78\xdf\xfe"
    "\x9f\x50\xda\xf6\x30\x8e\xa3\xfb\x01\x50\x4b\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00\x21\x00"
    "\xcf\xb6\xc5\x7d\x68\x00\x00\x00\xa0\x00\x00\x00\x13\x00\x14\x00\x6f\x75\x74\x5f\x70\x72\x6f"
    "\x6a\x2e\x77\x65\x69\x67\x68\x74\x2e\x6e\x70\x79\x01\x00\x10\x00\xa0\x00\x00\x00\x00\x00\x00"
    "\x00\x68\x00\x00\x00\x00\x00\x00\x00\x9b\xec\x17\xea\x1b\x10\xc9\xc8\x50\xc6\x50\xad\x9e\x92"
    "\x5a\x9c\x5c\xa4\x6e\xa5\xa0\x6e\x93\x66\xa1\xae\xa3\xa0\x9e\x96\x5f\x54\x52\x94\x98\x17\x9f"
    "\x5f\x94\x92\x0a\x12\x77\x4b\xcc\x29\x4e\x05\x8a\x17\x67\x24\x16\xa4\x02\xf9\x1a\x46\x3a\x0a"
    "\x46\x9a\x3a\x0a\xb5\x0a\x64\x03\x2e\xb3\x3d\xf1\xc7\xef\x6e\x7c\xba\xbf\xd7\xb6\x72\xa9\xd4"
    "\xa7\x0f\xfb\x7b\x5e\xe8\x77\x2b\xbe\x7d\x6e\x1f\xb0\xea\x57\xef\x8d\x29\xe7\xec\x01\x50\x4b"
    "\x01\x02\x14\x03\x14\x00\x00\x00\x08\x00\x00\x00\x21\x00\x24\x47\xfb\x69\xab\x00\x00\x00\xe0"
    "\x00\x00\x00\x12\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x00\x00\x00\x00\x69\x6e"
    "\x5f\x70\x72\x6f\x6a\x5f\x77\x65\x69\x67\x68\x74\x2e\x6e\x70\x79\x50\x4b\x01\x02\x14\x03\x14"
    "\x00\x00\x00\x08\x00\x00\x00\x21\x00\xcf\xb6\xc5\x7d\x68\x00\x00\x00\xa0\x00\x00\x00\x13\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\xef\x00\x00\x00\x6f\x75\x74\x5f\x70\x72\x6f"
    "\x6a\x2e\x77\x65\x69\x67\x68\x74\x2e\x6e\x70\x79\x50\x4b\x05\x06\x00\x00\x00\x00\x02\x00\x02"
    "\x00\x81\x00\x00\x00\x9c\x01\x00\x00\x00\x00";

static mha_weight_set load(const char *name, mha_layout_hint hint) {
    mha_weight_set set;
    mha_error error;
    ck_assert_msg(
        load_weight_set(&set, folder_path(name), &hint, 0, &error) == MHA_OK, "%s", error.text);
    return set;
}

/* output (1,T,2) of the layer in double. */
static void attend(double *output, const double *query, const double *source,
    const mha_weight_set *set, const mha_shape *shape) {
    mha_layer *layer;
    mha_tape *tape;
    ck_assert_int_eq(set->dtype, MHA_FLOAT64);
    ck_assert(mha_layer_create(&layer, shape, NULL, NULL) == MHA_OK);
    ck_assert(mha_tape_create(&tape, shape, NULL, NULL) == MHA_OK);
    const mha_weights weights = mha_weights_view(set->matrices, set->width);
    mha_error error;
    ck_assert_msg(
        mha_forward(output, tape, query, source, NULL, &weights, layer, shape, &error) == MHA_OK,
        "%s", error.text);
    mha_tape_destroy(tape);
    mha_layer_destroy(layer);
}

/* torch's own output for query and source that were drawn with these weights. */
START_TEST(torch_weights_give_torchs_output) {
    const double query[] = {-0x1.918fd46856cfbp-2, 0x1.371f2758418dfp-3, -0x1.2f092354d1a68p+0,
        0x1.1197b90ac6addp-1, -0x1.73763aef28b4ap+0, -0x1.423d4ff7018c5p-1};
    const double source[] = {
        0x1.3c3dfb7e9fa20p-3, -0x1.fbe2434424c5ap-3, 0x1.d0629bb98fdb1p-2, 0x1.8c336ccba1db5p-7};
    const double expected[] = {-0x1.2dffe794ec1dbp-2, 0x1.56ec1cd52d20ep-3, -0x1.176e60fc4ed51p-2,
        0x1.24d3b89bbbd9dp-3, -0x1.1df96763190c4p-2, 0x1.3b872033bc303p-3};
    const mha_shape shape = {
        .batch = 1, .target_length = 3, .source_length = 2, .width = 2, .heads = 2};
    folder_write("state.npz", torch_state, sizeof torch_state - 1);
    mha_weight_set set = load("state.npz", (mha_layout_hint){.heads = 2});
    ck_assert_int_eq(set.layout, MHA_LAYOUT_TORCH);
    ck_assert(layouts_entry(&set, 0, 0, 1) == 0x1.0b4a212789e04p-1);  /* in_proj_weight[1,0] */
    ck_assert(layouts_entry(&set, 1, 1, 0) == 0x1.3222caa605b52p-2);  /* in_proj_weight[2,1] */
    ck_assert(layouts_entry(&set, 3, 1, 0) == -0x1.0f21aa5793d8dp+0); /* out_proj.weight[0,1] */
    double output[6];
    attend(output, query, source, &set, &shape);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_double_eq_tol(output[i], expected[i], 1e-15);
    }
    /* q and k exchanged would show */
    double *block = set.matrices, swapped[4];
    memcpy(swapped, block, sizeof swapped);
    memmove(block, block + 4, sizeof swapped);
    memcpy(block + 4, swapped, sizeof swapped);
    attend(output, query, source, &set, &shape);
    ck_assert(fabs(output[0] - expected[0]) > 1e-3);
    mha_weight_set_free(&set);
}
END_TEST

/* One key: the output is x Wv, and ((1,2),(3,4)) as (out,in) gives (1,3), as (in,out) (1,2). */
START_TEST(layout_decides_which_way_round) {
    const double any[] = {5.0, 6.0, 7.0, 8.0}, value[] = {1.0, 2.0, 3.0, 4.0},
                 identity[] = {1.0, 0.0, 0.0, 1.0}, x[] = {1.0, 0.0};
    const size_t dims[] = {2, 2};
    layouts_add_numbers("Wq", MHA_FLOAT64, 2, dims, any);
    layouts_add_numbers("Wk", MHA_FLOAT64, 2, dims, value);
    layouts_add_numbers("Wv", MHA_FLOAT64, 2, dims, value);
    layouts_add_numbers("Wo", MHA_FLOAT64, 2, dims, identity);
    const mha_shape shape = {
        .batch = 1, .target_length = 1, .source_length = 1, .width = 2, .heads = 1};
    double output[2];
    mha_weight_set set = layouts_take((mha_layout_hint){.layout = MHA_LAYOUT_LESSON});
    attend(output, x, NULL, &set, &shape);
    ck_assert(output[0] == 1.0 && output[1] == 2.0);
    mha_weight_set_free(&set);
    set = layouts_take((mha_layout_hint){.layout = MHA_LAYOUT_TORCH_LINEAR});
    attend(output, x, NULL, &set, &shape);
    ck_assert(output[0] == 1.0 && output[1] == 3.0);
    mha_weight_set_free(&set);
}
END_TEST

/* ---- round trips ---- */

enum { WIDTH = 6, NUMBERS = 4 * WIDTH * WIDTH };

/* Every kind of bits: finite, zeros of both signs, infinity, NaNs with a payload, quiet or not. */
static mha_weight_set make_set(mha_dtype dtype) {
    mha_weight_set set = {.dtype = dtype, .width = WIDTH, .heads = 3, .prefix = NULL};
    set.matrices = calloc(NUMBERS, mha_dtype_bytes(dtype));
    ck_assert_ptr_nonnull(set.matrices);
    const uint64_t odd64[] = {UINT64_C(0x7ff0000000000001), UINT64_C(0xfff8dead00beef01),
        UINT64_C(0x7ff0000000000000), UINT64_C(0x8000000000000000), 1};
    const uint32_t odd32[] = {0x7f800001, 0xffdead01, 0x7f800000, 0x80000000, 1};
    for (size_t i = 0; i < NUMBERS; i++) {
        const double number = 1.0 / (double)(i + 1);
        const float single = (float)number;
        const size_t odd = i % 29;
        if (dtype == MHA_FLOAT64) {
            memcpy((double *)set.matrices + i, odd < 5 ? (const void *)&odd64[odd] : &number, 8);
        } else {
            memcpy((float *)set.matrices + i, odd < 5 ? (const void *)&odd32[odd] : &single, 4);
        }
    }
    return set;
}

static const char *const round_names[] = {"w.npz", "w.safetensors"};

START_TEST(no_bit_is_lost) {
    const mha_dtype dtype = _i % 2 == 0 ? MHA_FLOAT32 : MHA_FLOAT64;
    const char *name = round_names[_i / 2];
    mha_weight_set set = make_set(dtype);
    mha_error error;
    for (int l = MHA_LAYOUT_UNKNOWN + 1; l < MHA_LAYOUT_COUNT; l++) {
        const mha_layout layout = (mha_layout)l;
        const bool torch = layout == MHA_LAYOUT_TORCH || layout == MHA_LAYOUT_TORCH_LINEAR;
        const char *prefix = torch ? "model.layer.0." : "";
        ck_assert_msg(
            mha_weight_set_write(folder_path(name), &set, layout, prefix, &error) == MHA_OK, "%s",
            error.text);
        mha_weight_set back = load(name, (mha_layout_hint){.prefix = NULL});
        ck_assert_int_eq(back.layout, layout);
        ck_assert_int_eq(back.dtype, dtype);
        ck_assert_uint_eq(back.width, WIDTH);
        ck_assert_uint_eq(back.heads, torch && _i / 2 == 0 ? 0 : 3);
        ck_assert_str_eq(back.prefix, prefix);
        ck_assert_int_eq(memcmp(back.matrices, set.matrices, NUMBERS * mha_dtype_bytes(dtype)), 0);
        mha_weight_set_free(&back);
    }
    ck_assert_uint_eq(folder_count(), 1);
    mha_weight_set_free(&set);
}
END_TEST

/* What torch loads with strict=True may hold the arrays of the module alone. */
START_TEST(files_hold_what_the_layout_says) {
    static const size_t counts[2][MHA_LAYOUT_COUNT] = {{0, 5, 2, 4, 3}, {0, 4, 2, 4, 2}};
    mha_weight_set set = make_set(MHA_FLOAT32);
    for (int l = MHA_LAYOUT_UNKNOWN + 1; l < MHA_LAYOUT_COUNT; l++) {
        ck_assert(mha_weight_set_write(
                      folder_path(round_names[_i]), &set, (mha_layout)l, NULL, NULL) == MHA_OK);
        mha_arrays *arrays = read_arrays(round_names[_i]);
        ck_assert_uint_eq(mha_arrays_count(arrays), counts[_i][l]);
        if (_i == 1) {
            ck_assert_str_eq(mha_arrays_metadata(arrays, "layout"), mha_layout_name((mha_layout)l));
            ck_assert_str_eq(mha_arrays_metadata(arrays, "heads"), "3");
        }
        mha_arrays_free(arrays);
    }
    mha_weight_set_free(&set);
}
END_TEST

START_TEST(torch_needs_no_heads) {
    mha_weight_set set = make_set(MHA_FLOAT32);
    set.heads = 0;
    const char *path = folder_path("w.safetensors");
    ck_assert(mha_weight_set_write(path, &set, MHA_LAYOUT_TORCH, NULL, NULL) == MHA_OK);
    mha_weight_set back = load("w.safetensors", (mha_layout_hint){.prefix = NULL});
    ck_assert_uint_eq(back.heads, 0);
    mha_weight_set_free(&back);
    mha_weight_set_free(&set);
}
END_TEST

static void refuse_write(const char *name, const mha_weight_set *set, mha_layout layout,
    const char *prefix, mha_status status, const char *words) {
    mha_error error;
    ck_assert_int_eq(mha_weight_set_write(folder_path(name), set, layout, prefix, &error), status);
    ck_assert_msg(strstr(error.text, words) != NULL, "'%s' is not in: %s", words, error.text);
    ck_assert_msg(strstr(error.text, name) != NULL, "%s", error.text);
    ck_assert_uint_eq(folder_count(), 0);
}

START_TEST(unusable_requests_write_nothing) {
    mha_weight_set set = make_set(MHA_FLOAT64);
    refuse_write("w.npz", &set, MHA_LAYOUT_LESSON, "a.", MHA_ERROR_ARGUMENT,
        "the layout lesson have no prefix, 'a.' is given");
    refuse_write("w.npz", &set, MHA_LAYOUT_COMBINED, "a.", MHA_ERROR_ARGUMENT, "no prefix");
    refuse_write("w.npz", &set, MHA_LAYOUT_UNKNOWN, "", MHA_ERROR_ARGUMENT, "no layout 0");
    refuse_write("w.npz", &set, MHA_LAYOUT_COUNT, "", MHA_ERROR_ARGUMENT, "no layout 5");
    refuse_write("w.pt", &set, MHA_LAYOUT_LESSON, "", MHA_ERROR_ARGUMENT, "w.pt");
    set.heads = 4;
    refuse_write("w.npz", &set, MHA_LAYOUT_TORCH, "", MHA_ERROR_SHAPE,
        "width 6 is not divisible by 4 heads");
    set.heads = 0;
    refuse_write("w.npz", &set, MHA_LAYOUT_LESSON, "", MHA_ERROR_ARGUMENT, "name the heads");
    refuse_write(
        "w.safetensors", &set, MHA_LAYOUT_COMBINED, "", MHA_ERROR_ARGUMENT, "name the heads");
    set.dtype = MHA_INT64;
    refuse_write("w.npz", &set, MHA_LAYOUT_TORCH, "", MHA_ERROR_ARGUMENT, "no floating weights");
    mha_weight_set_free(&set);
}
END_TEST

TCase *layouts_files(void) {
    TCase *cases = tcase_create("files");
    tcase_add_checked_fixture(cases, folder_make, folder_remove);
    tcase_add_checked_fixture(cases, layouts_begin, layouts_end);
    tcase_add_test(cases, torch_weights_give_torchs_output);
    tcase_add_test(cases, layout_decides_which_way_round);
    tcase_add_loop_test(cases, no_bit_is_lost, 0, 4);
    tcase_add_loop_test(cases, files_hold_what_the_layout_says, 0, 2);
    tcase_add_test(cases, torch_needs_no_heads);
    tcase_add_test(cases, unusable_requests_write_nothing);
    return cases;
}
