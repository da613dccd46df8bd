/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * The tag: 64 bits that name the component on whose behalf shared code runs.
 *
 *   63          48 47          32 31    28 27          14 13           0
 *  +--------------+--------------+--------+--------------+--------------+
 *  | check        | plan slot    | gen    | upper        | lower        |
 *  +--------------+--------------+--------+--------------+--------------+
 *
 * 0 means "no tag". `check` is never 0 in a tag; it is a keyed hash of the other 48 bits, so a register
 * that holds something else is believed with probability 2^-16 at most, and only if the plan slot, its
 * generation and both components are live as well. `upper` and `lower` are component ids on the two levels
 * that the plan declares (Plan.tag_upper_level, Plan.tag_lower_level); lower = 0 where the id does not fit.
 * A tag means something only inside the process that wrote it, at the time it was read. Without a lower
 * level, upper = 0 says that `lower` is an engine component of the process, at work for the plan's execution.
 * Register tagging: Beischl et al., "Profiling Dataflow Systems on Multiple Abstraction Levels",
 * EuroSys 2021, section 4.2.5.
 */
#ifndef TAILOR_TAG_H
#define TAILOR_TAG_H

#include <stdint.h>

#define TAILOR_TAG_NONE UINT64_C(0)
#define TAILOR_TAG_COMPONENT_BITS 14
#define TAILOR_TAG_COMPONENT_MAX ((UINT32_C(1) << TAILOR_TAG_COMPONENT_BITS) - 1)
#define TAILOR_TAG_GENERATION_BITS 4
#define TAILOR_TAG_PLAN_SLOTS (UINT32_C(1) << 16)

/* The check of the 48 low bits under the process's key (a random number the agent draws). Pure. */
static inline uint64_t tailor_tag_check(uint64_t key, uint64_t low48) {
  uint64_t x = (low48 ^ key) * UINT64_C(0x9E3779B97F4A7C15);
  x ^= x >> 29;
  x *= UINT64_C(0xBF58476D1CE4E5B9);
  x >>= 48;
  return x ? x : 1;
}

/* A tag. `lower` above TAILOR_TAG_COMPONENT_MAX becomes 0: then the tag names the upper component alone. An
 * `upper` above it has no tag: the result is TAILOR_TAG_NONE, because a part of the number is the number of
 * another component. Slot and generation are cut to their bits. Pure. */
static inline uint64_t tailor_tag_make(uint64_t key, uint32_t plan_slot, uint32_t generation, uint32_t upper,
                                       uint32_t lower) {
  uint64_t low48 = ((uint64_t)(plan_slot & 0xFFFF) << 32) | ((uint64_t)(generation & 0xF) << 28) |
                   ((uint64_t)upper << 14) | (lower > TAILOR_TAG_COMPONENT_MAX ? 0 : lower);
  if (upper > TAILOR_TAG_COMPONENT_MAX) return TAILOR_TAG_NONE;
  return (tailor_tag_check(key, low48) << 48) | low48;
}

/* 1 if the check fits, else 0 (also for 0 itself). Says nothing yet about the plan being live. Pure. */
static inline int tailor_tag_fits(uint64_t key, uint64_t tag) {
  uint64_t check = tag >> 48;
  return check != 0 && tailor_tag_check(key, tag & UINT64_C(0xFFFFFFFFFFFF)) == check;
}

static inline uint32_t tailor_tag_plan_slot(uint64_t tag) {
  return (uint32_t)(tag >> 32) & 0xFFFF;
}
static inline uint32_t tailor_tag_generation(uint64_t tag) {
  return (uint32_t)(tag >> 28) & 0xF;
}
static inline uint32_t tailor_tag_upper(uint64_t tag) {
  return (uint32_t)(tag >> 14) & TAILOR_TAG_COMPONENT_MAX;
}
static inline uint32_t tailor_tag_lower(uint64_t tag) {
  return (uint32_t)tag & TAILOR_TAG_COMPONENT_MAX;
}

#endif
