/* Finding the weights of a file by their names. */
#include "io/layouts_internal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How well a naming answers what is wanted; the first kind that is there complete is taken. */
typedef enum answer {
    ANSWER_TOLD,   /* its layout is the wanted one, or any was wanted */
    ANSWER_UNTOLD, /* it tells no layout, and may have the wanted one */
    ANSWER_OTHER,  /* it tells another layout */
    ANSWER_NONE
} answer;

enum { LISTED = 6 }; /* matches that are kept for messages */

typedef struct search {
    const weights_query *query;
    char *name; /* room for a prefix and a name */
    size_t name_size;
    answer best;
    match found[LISTED]; /* complete, of the best answer */
    size_t count;        /* of all those, listed or not */
    match nearest;       /* the one that lacks least of those that are not complete */
} search;

static answer answer_of(const naming *names, mha_layout wanted) {
    if (names->layout == MHA_LAYOUT_UNKNOWN) {
        const bool packed = wanted == MHA_LAYOUT_TORCH || wanted == MHA_LAYOUT_COMBINED;
        return packed ? ANSWER_OTHER : ANSWER_UNTOLD;
    }
    return wanted == MHA_LAYOUT_UNKNOWN || wanted == names->layout ? ANSWER_TOLD : ANSWER_OTHER;
}

char *match_name(char *text, size_t size, const match *m, const char *name) {
    const size_t room = size - 1;
    const size_t before = m->prefix_length < room ? m->prefix_length : room;
    const size_t length = strlen(name) < room - before ? strlen(name) : room - before;
    memcpy(text, m->prefix, before);
    memcpy(text + before, name, length);
    text[before + length] = '\0';
    return text;
}

static bool same_prefix(const match *a, const match *b) {
    return a->prefix_length == b->prefix_length &&
           memcmp(a->prefix, b->prefix, a->prefix_length) == 0;
}

/* Looks up the arrays of a naming behind a prefix; returns the index of the first that is there. */
static size_t look_up(match *m, const search *s) {
    size_t first = m->naming->count;
    m->found = 0;
    for (size_t i = m->naming->count; i-- > 0;) {
        const char *name = match_name(s->name, s->name_size, m, m->naming->names[i]);
        m->arrays[i] = mha_arrays_find(s->query->arrays, name);
        if (m->arrays[i] != NULL) {
            first = i;
            m->found++;
        }
    }
    return first;
}

/* Of names that tell no layout one alone, such as "q", says nothing. */
static bool is_nearer(const match *m, const match *than) {
    if (m->found < (m->naming->layout == MHA_LAYOUT_UNKNOWN ? 2 : 1)) {
        return false;
    }
    const size_t lacks = m->naming->count - m->found;
    const size_t lacked = than->naming == NULL ? SIZE_MAX : than->naming->count - than->found;
    return lacks < lacked || (lacks == lacked && m->found > than->found);
}

static void note_match(search *s, const match *m) {
    const answer a = answer_of(m->naming, s->query->wanted);
    if (m->found < m->naming->count) {
        if (a != ANSWER_OTHER && is_nearer(m, &s->nearest)) {
            s->nearest = *m;
        }
        return;
    }
    if (a < s->best) {
        s->best = a;
        s->count = 0;
    }
    if (a == s->best) {
        if (s->count < LISTED) {
            s->found[s->count] = *m;
        }
        s->count++;
    }
}

static bool prefix_is_allowed(const naming *names, size_t length) {
    return names->prefix == PREFIX_MAYBE || (length > 0) == (names->prefix == PREFIX_ALWAYS);
}

/* Whether text ends in name, right at its start or behind a '.' or '/'. *length is what stands before. */
static bool ends_in_name(size_t *length, const char *text, size_t text_length, const char *name) {
    const size_t name_length = strlen(name);
    if (text_length < name_length) {
        return false;
    }
    *length = text_length - name_length;
    return memcmp(text + *length, name, name_length) == 0 &&
           (*length == 0 || text[*length - 1] == '.' || text[*length - 1] == '/');
}

/* Every naming that an array belongs to; each match is noted at the first of its arrays. */
static void search_around(search *s, const mha_array *array) {
    const size_t text_length = strlen(array->name);
    for (size_t row = 0; row < LAYOUT_NAMINGS; row++) {
        match m = {.naming = &layout_namings[row], .prefix = array->name};
        for (size_t i = 0; i < m.naming->count; i++) {
            if (ends_in_name(&m.prefix_length, array->name, text_length, m.naming->names[i]) &&
                prefix_is_allowed(m.naming, m.prefix_length) && look_up(&m, s) == i) {
                note_match(s, &m);
            }
        }
    }
}

static void search_prefix(search *s, const char *prefix) {
    for (size_t row = 0; row < LAYOUT_NAMINGS; row++) {
        match m = {
            .naming = &layout_namings[row], .prefix = prefix, .prefix_length = strlen(prefix)};
        if (prefix_is_allowed(m.naming, m.prefix_length)) {
            look_up(&m, s);
            note_match(s, &m);
        }
    }
}

static bool search_create(search *s, const weights_query *query) {
    size_t longest = query->prefix == NULL ? 0 : strlen(query->prefix);
    for (size_t i = 0; i < mha_arrays_count(query->arrays); i++) {
        const size_t length = strlen(mha_arrays_at(query->arrays, i)->name);
        longest = length > longest ? length : longest;
    }
    *s = (search){.query = query, .best = ANSWER_NONE, .name_size = longest + LAYOUT_NAME_SIZE};
    s->name = malloc(s->name_size);
    return s->name != NULL;
}

static void search_all(search *s) {
    if (s->query->prefix != NULL) {
        search_prefix(s, s->query->prefix);
        return;
    }
    for (size_t i = 0; i < mha_arrays_count(s->query->arrays); i++) {
        search_around(s, mha_arrays_at(s->query->arrays, i));
    }
}

/* "'encoder.', 'decoder.' and more": the prefixes of the listed matches, each once; returns how many. */
static size_t list_prefixes(char *text, size_t size, const search *s) {
    size_t prefixes = 0, used = 0;
    text[0] = '\0';
    const size_t listed = s->count < LISTED ? s->count : LISTED;
    for (size_t i = 0; i < listed; i++) {
        size_t same = 0;
        while (!same_prefix(&s->found[same], &s->found[i])) {
            same++;
        }
        if (same == i) {
            const match *m = &s->found[i];
            used += (size_t)snprintf(text + used, size - used, "%s'%.*s'", prefixes > 0 ? ", " : "",
                m->prefix_length < 80 ? (int)m->prefix_length : 80, m->prefix);
            prefixes++;
        }
    }
    snprintf(text + used, size - used, "%s", s->count > listed ? " and more" : "");
    return prefixes;
}

enum { LIST_SIZE = LISTED * 90 };

static mha_status refuse_missing(const search *s, mha_error *error) {
    const match *m = &s->nearest;
    size_t missing = 0, there = 0;
    while (m->arrays[missing] != NULL) {
        missing++;
    }
    while (m->arrays[there] == NULL) {
        there++;
    }
    return mha_fail(error, MHA_ERROR_FORMAT, "%s: %s is missing, %s is there", s->query->path,
        match_name(s->name, s->name_size, m, m->naming->names[missing]), m->arrays[there]->name);
}

static mha_status refuse_nothing(const search *s, mha_error *error) {
    const weights_query *query = s->query;
    if (s->nearest.naming != NULL) {
        return refuse_missing(s, error);
    }
    if (query->prefix == NULL) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: none of its %zu arrays are weights under a known name, such as wq wk wv wo, or "
            "in_proj_weight and out_proj.weight",
            query->path, mha_arrays_count(query->arrays));
    }
    weights_query anywhere = *query;
    anywhere.prefix = NULL;
    search all = *s;
    all.query = &anywhere;
    search_all(&all);
    char list[LIST_SIZE];
    list_prefixes(list, sizeof list, &all);
    return mha_fail(error, MHA_ERROR_FORMAT, "%s: no weights have the prefix '%.200s'%s%s",
        query->path, query->prefix, all.count > 0 ? "; there are some with the prefix " : "", list);
}

static mha_status refuse_other(const search *s, mha_error *error) {
    const match *m = &s->found[0];
    const mha_layout told = m->naming->layout;
    return mha_fail(error, MHA_ERROR_FORMAT,
        "%s: names such as %.200s are those of %s%s, not of the layout %s, which %s",
        s->query->path, m->arrays[0]->name,
        told == MHA_LAYOUT_UNKNOWN ? "four square matrices" : "the layout ",
        told == MHA_LAYOUT_UNKNOWN ? "" : mha_layout_name(told), mha_layout_name(s->query->wanted),
        s->query->wanted_by);
}

static mha_status refuse_several(const search *s, mha_error *error) {
    const match *a = &s->found[0], *b = &s->found[1];
    char list[LIST_SIZE];
    if (list_prefixes(list, sizeof list, s) > 1) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: weights stand behind several prefixes, name the prefix: %s", s->query->path, list);
    }
    for (size_t i = 1; i < s->count && i < LISTED; i++) {
        if (s->found[i].naming->layout != a->naming->layout) {
            return mha_fail(error, MHA_ERROR_FORMAT,
                "%s: its names tell two layouts, name the layout: %s or %s", s->query->path,
                mha_layout_name(a->naming->layout), mha_layout_name(s->found[i].naming->layout));
        }
    }
    size_t differs = 0;
    while (a->arrays[differs] == b->arrays[differs]) {
        differs++;
    }
    return mha_fail(error, MHA_ERROR_FORMAT,
        "%s: the same weights stand there twice, as %s and as %s", s->query->path,
        a->arrays[differs]->name, b->arrays[differs]->name);
}

static mha_status decide(match *found, const search *s, mha_error *error) {
    if (s->best == ANSWER_NONE) {
        return refuse_nothing(s, error);
    }
    if (s->best == ANSWER_OTHER) {
        return refuse_other(s, error);
    }
    if (s->count > 1) {
        return refuse_several(s, error);
    }
    *found = s->found[0];
    found->layout = s->best == ANSWER_UNTOLD ? s->query->wanted : found->naming->layout;
    if (found->layout == MHA_LAYOUT_UNKNOWN) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: %s and its like may be (in,out) or (out,in), name the layout: lesson or "
            "torch-linear",
            s->query->path, found->arrays[0]->name);
    }
    return MHA_OK;
}

mha_status weights_find(match *found, const weights_query *query, mha_error *error) {
    search s;
    if (!search_create(&s, query)) {
        return mha_fail(error, MHA_ERROR_MEMORY, "%s: no memory for names of %zu bytes",
            query->path, s.name_size);
    }
    search_all(&s);
    const mha_status status = decide(found, &s, error);
    free(s.name);
    return status;
}
