/* SPDX-License-Identifier: Apache-2.0 */
/* What the backend does where no node runs. */
#ifndef TAILOR_PG_PHASES_H
#define TAILOR_PG_PHASES_H

#include "postgres.h"

#include "settings.h"
#include "slot.h"
#include "tailor/agent.h"
#include "tailor/dictionary.h"

#pragma GCC visibility push(hidden)

typedef enum {
  TAILOR_PLANNER,
  TAILOR_EXECUTOR_START,
  TAILOR_EXECUTOR_RUN,
  TAILOR_TRIGGERS,
  TAILOR_EXECUTOR_END,
  TAILOR_UTILITY,
  TAILOR_COMMIT,
  TAILOR_PHASES
} TailorPhase;

/* Declares the phases to the agent, which has just started. */
void tailor_declare_phases(void);
/* The tag of a phase that works for the execution of a plan; 0 if phases have no tags. */
uint64_t tailor_phase_of_plan(const struct tailor_plan_ids* plan, TailorPhase phase);
/* What the slot says in a phase that works for no execution. */
extern uint64_t tailor_phase_tags[TAILOR_PHASES];

/* Such a phase of this backend's work begins. Returns what is to be given to tailor_phase_end. Phases nest.
 * After an error that jumps over the end, tailor_phases_aborted ends them. */
static inline uint64_t tailor_phase_begin(TailorPhase phase) {
  uint64_t before = *tailor_slot;
  if (tailor_phases) tailor_put(tailor_phase_tags[phase]);
  return before;
}

static inline void tailor_phase_end(uint64_t before) {
  tailor_put(before);
}

/* An error has ended what was below a utility command, or below nothing. */
void tailor_phases_aborted(void);
/* A utility command runs, or has ended: what it said before. It may catch errors. */
uint64_t tailor_utility_begin(void);
/* The command that has begun is named by this tag, instead of the phase. */
void tailor_utility_is(uint64_t tag);
void tailor_utility_end(uint64_t before);

#pragma GCC visibility pop

#endif
