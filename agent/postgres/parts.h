/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the extension that a build for measurements can turn off, to see what each costs
 * (tests/bench/postgres_parts.py). In the product these are constants.
 */
#ifndef TAILOR_PG_PARTS_H
#define TAILOR_PG_PARTS_H

#include "postgres.h"

#ifdef TAILOR_PG_PARTS
#pragma GCC visibility push(hidden)

/* Hooks put back what they changed when an error passes. Without it the first error ends a session's
 * measuring. */
extern bool tailor_part_try;
/* The nodes of each plan are walked. Without it a query has the plan that it had last, and no node is known.
 */
extern bool tailor_part_walk;
/* Nodes and phases are stored in the slot. Without it the slot is empty. */
extern bool tailor_part_stores;

/* As settings tailor.part_try and so on. */
void tailor_define_parts(void);

#pragma GCC visibility pop
#else
static const bool tailor_part_try = true;
static const bool tailor_part_walk = true;
static const bool tailor_part_stores = true;

static inline void tailor_define_parts(void) {}
#endif

#endif
