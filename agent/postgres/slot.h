/* SPDX-License-Identifier: Apache-2.0 */
/* The slot of this backend, and what is put there. The stubs read all three by name. */
#ifndef TAILOR_PG_SLOT_H
#define TAILOR_PG_SLOT_H

#include "postgres.h"

#include "parts.h"

#pragma GCC visibility push(hidden)

/* Where this backend keeps its tag. Never NULL: without an agent a word that nobody reads. */
extern uint64_t* tailor_slot;
/* The same while there is an agent; NULL: back to the word that nobody reads. */
void tailor_use_slot(uint64_t* slot);

/* The tag is in the slot before what follows runs. */
static inline void tailor_put(uint64_t tag) {
  if (tailor_part_stores) __atomic_store_n(tailor_slot, tag, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* The tags of the plan that runs, by plan_node_id. */
extern const uint64_t* tailor_tags;
/* And what static children leave in the slot (wrap.c). */
extern const uint64_t* tailor_returns;

#pragma GCC visibility pop

#endif
