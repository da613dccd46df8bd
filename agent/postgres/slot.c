/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres.h"

#include "slot.h"

static uint64_t nobody = 0;
uint64_t* tailor_slot = &nobody;
const uint64_t* tailor_tags = NULL;
const uint64_t* tailor_returns = NULL;

void tailor_use_slot(uint64_t* slot) {
  tailor_slot = slot ? slot : &nobody;
}
