/* Kernel, mode and threads of a layer: what goes together, and that a tape serves only the layers whose
 * activations it saves. */
#include "base/real.h"

#include "arrays.h"
#include "layer_cases.h"
#include "trial.h"

static const mha_shape shape = {2, 3, 5, 12, 4};

static void assert_options_refused(const mha_layer_options *options, const char *text) {
    mha_layer *layer = trial_layer(&shape, NULL);
    mha_tape *tape = trial_tape(&shape, NULL);
    size_t bytes = 1;
    mha_error errors[3];
    ck_assert_int_eq(mha_layer_create(&layer, &shape, options, &errors[0]), MHA_ERROR_ARGUMENT);
    ck_assert_int_eq(mha_tape_create(&tape, &shape, options, &errors[1]), MHA_ERROR_ARGUMENT);
    ck_assert_int_eq(mha_tape_bytes(&bytes, &shape, options, &errors[2]), MHA_ERROR_ARGUMENT);
    ck_assert_ptr_null(layer);
    ck_assert_ptr_null(tape);
    ck_assert_uint_eq(bytes, 0);
    for (size_t i = 0; i < COUNT(errors); i++) {
        ck_assert_int_eq(errors[i].status, MHA_ERROR_ARGUMENT);
        ck_assert_str_eq(errors[i].text, text);
    }
    ck_assert_int_eq(mha_layer_create(&layer, &shape, options, NULL), MHA_ERROR_ARGUMENT);
}

START_TEST(options_that_do_not_go_together_are_refused) {
    static const struct {
        mha_layer_options options;
        const char *text;
    } refused[] = {
        {{.kernel = MHA_KERNEL_REFERENCE, .mode = MHA_MODE_TILED},
            "the reference kernel stores the attention weights, mode tiled is for the fused one"},
        {{.stages = mha_stages},
            "a table of 13 stages is for the reference kernel, not for the fused one"},
        {{.mode = MHA_MODE_TILED, .stages = mha_stages},
            "a table of 13 stages is for the reference kernel, not for the fused one"},
        {{.kernel = (mha_kernel)2}, "there is no kernel 2"},
        {{.mode = (mha_mode)7}, "there is no mode 7"},
        {{.kernel = MHA_KERNEL_REFERENCE, .mode = (mha_mode)2}, "there is no mode 2"},
    };
    for (size_t i = 0; i < COUNT(refused); i++) {
        assert_options_refused(&refused[i].options, refused[i].text);
        arrays_release();
    }
}
END_TEST

/* NULL, all zeros, and the same said aloud; any number of threads, which the readable wing ignores. */
START_TEST(options_have_defaults) {
    static const mha_layer_options zeros;
    static const mha_layer_options fused = {MHA_KERNEL_FUSED, MHA_MODE_STORED, 5, NULL};
    static const mha_layer_options plain = {MHA_KERNEL_REFERENCE, MHA_MODE_STORED, 9, NULL};
    static const mha_layer_options table = {MHA_KERNEL_REFERENCE, MHA_MODE_STORED, 0, mha_stages};
    wing_use(WING_STORED);
    const trial stored = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    wing_use(WING_REFERENCE);
    const trial reference = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    trial_run(&stored);
    trial_run(&reference);
    const struct {
        const mha_layer_options *options;
        const trial *same;
    } cases[] = {{NULL, &stored}, {&zeros, &stored}, {&fused, &stored}, {&plain, &reference},
        {&table, &reference}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        trial t = *cases[i].same;
        t.layer = trial_layer(&shape, cases[i].options);
        t.tape = trial_tape(&shape, cases[i].options);
        t.output = array_new(trial_count(&t, MHA_OUTPUT));
        trial_clear(&t);
        trial_run(&t);
        assert_trials_same(&t, cases[i].same);
    }
}
END_TEST

/* A tape made for one wing and mode, in a layer of another; what the tape held stays. */
START_TEST(a_tape_serves_its_own_kernel_and_mode) {
    const char *text = "the tape was made for another kernel or mode than the layer's";
    for (wing of_tape = WING_REFERENCE; of_tape < WINGS; of_tape++) {
        wing_use(of_tape);
        const trial expected = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
        trial t = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
        trial_run(&expected);
        trial_forward(&t);
        for (wing of_layer = WING_REFERENCE; of_layer < WINGS; of_layer++) {
            wing_use(of_layer);
            trial other = t;
            other.layer = trial_layer(&shape, wing_options());
            if (of_layer != of_tape) {
                assert_forward_refused(&other, MHA_ERROR_STATE, text);
            }
            assert_backward_refused(
                &other, MHA_ERROR_STATE, "the tape holds the forward pass of another layer");
        }
        trial_backward(&t);
        assert_trials_same(&t, &expected);
    }
}
END_TEST

/* Threads beyond what any machine has are asked for in vain, and change no bit. */
START_TEST(any_number_of_threads_is_accepted) {
    static const size_t numbers[] = {2, 1000, 100000, SIZE_MAX};
    for (size_t tiled = 0; tiled < 2; tiled++) {
        wing_use(tiled == 0 ? WING_STORED : WING_TILED);
        const trial one = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
        trial_run(&one);
        for (size_t i = 0; i < COUNT(numbers); i++) {
            mha_layer_options options = *wing_options();
            options.threads = numbers[i];
            const trial t = trial_on(&options, &shape, CROSS_ATTENTION, NULL, 1);
            trial_run(&t);
            assert_trials_same(&t, &one);
        }
    }
}
END_TEST

START_TEST(workspaces_of_wrong_shapes_are_refused) {
    mha_fused *fused;
    mha_error error;
    const mha_shape wrong = {2, 3, 3, 6, 4}, large = {SIZE_MAX, 3, 3, 4, 2};
    ck_assert_int_eq(mha_fused_create(&fused, &wrong, 1, &error), MHA_ERROR_SHAPE);
    ck_assert_ptr_null(fused);
    ck_assert_str_eq(error.text, "width 6 is not divisible by 4 heads");
    ck_assert_int_eq(mha_fused_create(&fused, &large, 1, NULL), MHA_ERROR_SIZE);
    ck_assert_ptr_null(fused);
    ck_assert_int_eq(mha_fused_create(&fused, NULL, 1, NULL), MHA_ERROR_ARGUMENT);
    ck_assert_ptr_null(fused);
    mha_fused_destroy(NULL);
}
END_TEST

TCase *layer_options_case(void) {
    TCase *cases = wing_case_named("options", WING_REFERENCE);
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_test(cases, options_that_do_not_go_together_are_refused);
    tcase_add_test(cases, options_have_defaults);
    tcase_add_test(cases, a_tape_serves_its_own_kernel_and_mode);
    tcase_add_test(cases, any_number_of_threads_is_accepted);
    tcase_add_test(cases, workspaces_of_wrong_shapes_are_refused);
    return cases;
}
