/* The test cases of safetensors_suite. */
#ifndef TESTS_SAFETENSORS_CASES_H
#define TESTS_SAFETENSORS_CASES_H

#include <check.h>

TCase *safetensors_unwritten_case(void); /* arrays that cannot be written */
TCase *safetensors_content_case(void);   /* what files hold */
TCase *safetensors_refusal_case(void);   /* broken files */
TCase *safetensors_limit_case(void);     /* time and memory that broken files cost */

#endif
