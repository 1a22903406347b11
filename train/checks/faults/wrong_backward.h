/* Backward routines that are wrong, each in its own way, for the faults that the checker has to catch. */
#ifndef TRAIN_CHECKS_WRONG_BACKWARD_H
#define TRAIN_CHECKS_WRONG_BACKWARD_H

#include <mha/mha64.h>

void wrong_scale_lost(const mha_pass *pass, const mha_real *dresult);
void wrong_sign_of_query(const mha_pass *pass, const mha_real *dresult);
void wrong_row_term_dropped(const mha_pass *pass, const mha_real *dresult);
void wrong_row_term_plain(const mha_pass *pass, const mha_real *dresult);
void wrong_key_into_value(const mha_pass *pass, const mha_real *dresult);
void wrong_value_into_key(const mha_pass *pass, const mha_real *dresult);
void wrong_output_weight_transposed(const mha_pass *pass, const mha_real *dresult);
void wrong_weight_not_transposed(const mha_pass *pass, const mha_real *dresult);
void wrong_mask_forgotten(const mha_pass *pass, const mha_real *dresult);
void wrong_mask_off_by_one(const mha_pass *pass, const mha_real *dresult);
void wrong_head_skipped(const mha_pass *pass, const mha_real *dresult);
void wrong_heads_regrouped(const mha_pass *pass, const mha_real *dresult);
void wrong_path_not_added(const mha_pass *pass, const mha_real *dresult);
void wrong_path_overwritten(const mha_pass *pass, const mha_real *dresult);
void wrong_added_twice(const mha_pass *pass, const mha_real *dresult);
void wrong_first_sample_only(const mha_pass *pass, const mha_real *dresult);
void wrong_one_entry_wrong(const mha_pass *pass, const mha_real *dresult);
void wrong_one_entry_nan(const mha_pass *pass, const mha_real *dresult);
void wrong_nothing(const mha_pass *pass, const mha_real *dresult);
void wrong_query_and_key_exchanged(const mha_pass *pass, const mha_real *dresult);
void wrong_millionth_of_wk(const mha_pass *pass, const mha_real *dresult);
void wrong_millionth_of_scores(const mha_pass *pass, const mha_real *dresult);
void wrong_scale_twice(const mha_pass *pass, const mha_real *dresult);
void wrong_heads_permuted(const mha_pass *pass, const mha_real *dresult);
void wrong_last_query_dropped(const mha_pass *pass, const mha_real *dresult);
void wrong_value_from_wrong_weights(const mha_pass *pass, const mha_real *dresult);
void wrong_key_path_negative(const mha_pass *pass, const mha_real *dresult);

#endif
