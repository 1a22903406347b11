#include "checks/marks/paths.h"

#include <stdlib.h>

#include "checks/case.h"
#include "memory.h"

/* What the projection of the source to result brings alone. */
static void project_back(
    double *path, mha_value result, mha_value weight, const struct walk *walk) {
    mha_pass pass = walk->pass;
    pass.gradient[MHA_SOURCE] = path;
    pass.gradient[weight] = NULL;
    mha_stages[case_stage_of(result)].backward(&pass, pass.gradient[result]);
}

mha_status paths_create(struct paths *made, const struct walk *walk, mha_error *error) {
    const size_t count = mha_value_count(MHA_SOURCE, &walk->pass.shape);
    made->numbers = allocate_zeroed(count, 2 * sizeof *made->numbers);
    if (made->numbers == NULL) {
        return no_memory(error);
    }
    double *key = made->numbers, *value = key + count;
    project_back(key, MHA_K, MHA_WK, walk);
    project_back(value, MHA_V, MHA_WV, walk);
    made->parts[PATH_QUERY] = (struct claim_part){"the query path", walk->pass.gradient[MHA_QUERY]};
    made->parts[PATH_KEY] = (struct claim_part){"the key path", key};
    made->parts[PATH_VALUE] = (struct claim_part){"the value path", value};
    return MHA_OK;
}

void paths_destroy(struct paths *made) {
    free(made->numbers);
    made->numbers = NULL;
}

void paths_of(struct claim_setting *setting, const struct paths *paths, mha_value value,
    bool self_attention) {
    setting->parts = paths->parts;
    setting->part_count = 0;
    if (value == MHA_QUERY && self_attention) {
        setting->part_count = PATH_COUNT;
    } else if (value == MHA_SOURCE) {
        setting->parts = paths->parts + PATH_KEY;
        setting->part_count = 2;
    }
}
