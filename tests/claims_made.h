/* Claims by every value, right at first, and what the common mistakes make of them. */
#ifndef TESTS_CLAIMS_MADE_H
#define TESTS_CLAIMS_MADE_H

#include "checks/marks/claims.h"

enum { CLAIMS_MOST = 256 };

/* B=3 T=4 S=5 D=12 h=2, so that d = 6: no two factors are the same number. */
extern const mha_shape claims_shape;
extern struct claim claims[MHA_VALUE_COUNT];
extern double truth[MHA_VALUE_COUNT][CLAIMS_MOST], claimed[MHA_VALUE_COUNT][CLAIMS_MOST];

/* Random truths under a mask, each with its claim, of which 1e-12 is allowed. */
void claims_fill(void);

size_t claims_count(mha_value value);
struct diagnosis diagnosis_of(mha_value value);

/* The mistakes; `by` is a factor, a number, a head or another value. */
void nothing(mha_value value, double by);
void multiplied(mha_value value, double by);
void noisy(mha_value value, double by);
void one_number(mha_value value, double by);
void one_entry(mha_value value, double by);
void copied(mha_value value, double by);
void exchanged(mha_value value, double by);
void transposed(mha_value value, double by);
void not_transposed(mha_value value, double by);
void heads_from(mha_value value, double by);
void regrouped(mha_value value, double by);
void blocked_pairs(mha_value value, double by);
void seen_pairs(mha_value value, double by);
void rows_moved(mha_value value, double by);
void rows_spoiled(mha_value value, double by);
void last_head(mha_value value, double by);
void last_samples(mha_value value, double by);
void last_target(mha_value value, double by);
void last_sources(mha_value value, double by);

#endif
