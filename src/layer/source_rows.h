/* Of the source stream only the rows that some query may see are read; the others count as zeros. */
#ifndef LAYER_SOURCE_ROWS_H
#define LAYER_SOURCE_ROWS_H

#include "base/real.h"

#define next_source_run MHA_NAME(next_source_run)

/* The next run of source rows, of all B*S in a row, that are all seen or all unseen, from `begin`;
 * returns where it ends. Without a mask all rows are seen as long as there is a query. */
size_t next_source_run(bool *seen, const mha_pass *pass, size_t begin);

#endif
