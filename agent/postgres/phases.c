/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a backend does where no plan node runs. A phase is a tag in the slot, as a node is, but it names an
 * engine component. A store into the slot costs a nanosecond; a pair of marks in the log costs twenty, and a
 * short statement has six phases.
 *
 * A tag names a plan. Phases that work for no execution have a plan of their own, which has no components and
 * never runs.
 */
#include "postgres.h"

#include "phases.h"

#include "executor/executor.h"

#include "tailor/tag.h"

#include "slot.h"

static const char* const kNames[TAILOR_PHASES] = {"planner",
                                                  "executor start",
                                                  "executor run: result rows and all outside of nodes",
                                                  "triggers and what ends a statement",
                                                  "executor end",
                                                  "utility command",
                                                  "commit"};

static uint32_t components[TAILOR_PHASES];
uint64_t tailor_phase_tags[TAILOR_PHASES];
/* What the slot says below no hook but that of a utility command. */
static uint64_t outermost = 0;

static bool load_plan_of_phases(const struct tailor_plan_ids* ids) {
  struct tailor_plan_builder* builder = tailor_plan_builder_new("PostgreSQL: outside of plans");
  (void)tailor_plan_builder_add_level(builder, "operator");
  int error = tailor_plan_builder_load(builder, ids->id);
  tailor_plan_builder_free(builder);
  return error == 0;
}

void tailor_declare_phases(void) {
  struct tailor_plan_ids ids = tailor_plan_new();
  for (int i = 0; i < TAILOR_PHASES; i++) components[i] = tailor_component_declare(kNames[i]);
  if (ids.id == 0 || !load_plan_of_phases(&ids)) return;
  for (int i = 0; i < TAILOR_PHASES; i++) {
    if (components[i] != 0) tailor_phase_tags[i] = tailor_tag(&ids, 0, components[i]);
  }
}

uint64_t tailor_phase_of_plan(const struct tailor_plan_ids* plan, TailorPhase phase) {
  return components[phase] == 0 ? TAILOR_TAG_NONE : tailor_tag(plan, 0, components[phase]);
}

void tailor_phases_aborted(void) {
  tailor_put(outermost);
}

uint64_t tailor_utility_begin(void) {
  uint64_t before = tailor_phase_begin(TAILOR_UTILITY);
  outermost = *tailor_slot;
  return before;
}

void tailor_utility_is(uint64_t tag) {
  outermost = tag;
  tailor_put(tag);
}

void tailor_utility_end(uint64_t before) {
  outermost = before;
  tailor_put(before);
}
