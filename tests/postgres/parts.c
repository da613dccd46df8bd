/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres.h"

#include "parts.h"

#include "slot.h"
#include "tailor/tag.h"
#include "utils/guc.h"

bool tailor_part_try = true;
bool tailor_part_walk = true;
bool tailor_part_stores = true;

/* The statement that sets this would put back what it found. Nobody does that any more. */
static void assign_stores(bool stored, void* extra) {
  if (!stored) *tailor_slot = TAILOR_TAG_NONE;
}

void tailor_define_parts(void) {
  DefineCustomBoolVariable("tailor.part_try", "Hooks catch errors.", NULL, &tailor_part_try, true, PGC_SUSET,
                           0, NULL, NULL, NULL);
  DefineCustomBoolVariable("tailor.part_walk", "Walks the nodes of each plan.", NULL, &tailor_part_walk, true,
                           PGC_SUSET, 0, NULL, NULL, NULL);
  DefineCustomBoolVariable("tailor.part_stores", "Stores nodes and phases in the slot.", NULL,
                           &tailor_part_stores, true, PGC_SUSET, 0, NULL, assign_stores, NULL);
}
