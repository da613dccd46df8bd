/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured queries of this backend, found by their state. A session may have thousands of cursors open,
 * and each call of the executor looks for one of them. So they lie in buckets of a few.
 */
#include "postgres.h"

#include "open_queries.h"

#include "executor/executor.h"

#include "query.h"

#define BUCKET_BITS 10

static dlist_head buckets[1 << BUCKET_BITS];

static dlist_head* bucket_of(const EState* estate) {
  uint64 mixed_address = (uint64)(uintptr_t)estate * UINT64CONST(0x9E3779B97F4A7C15);
  return &buckets[mixed_address >> (64 - BUCKET_BITS)];
}

void tailor_add_open_query(TailorQuery* open) {
  dlist_push_head(bucket_of(open->estate), &open->open);
}

void tailor_remove_open_query(TailorQuery* open) {
  dlist_delete(&open->open);
}

TailorQuery* tailor_open_query(const EState* estate) {
  dlist_head* bucket = bucket_of(estate);
  dlist_iter at;
  dlist_foreach(at, bucket) {
    TailorQuery* open = dlist_container(TailorQuery, open, at.cur);
    if (open->estate != estate) continue;
    dlist_move_head(bucket, &open->open);
    return open;
  }
  return NULL;
}
