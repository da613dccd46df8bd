/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of the TSC, with which short runs are timed. Two looks at the TSC and a clock, some time apart,
 * tell the rate.
 */
#include "postgres.h"

#include "ticks.h"

#include <stdint.h>
#include <time.h>
#include <x86intrin.h>

/* The best of these looks counts: the backend may lose its CPU between the two clocks. */
#define LOOKS 3

/* Both clocks at one time. */
typedef struct {
  uint64 cycles, ns;
} Look;

static Look first_look = {0, 0};

static uint64 clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return (uint64)now.tv_sec * UINT64CONST(1000000000) + (uint64)now.tv_nsec;
}

static Look look(void) {
  Look best = {0, 0};
  uint64 least = UINT64_MAX;
  for (int i = 0; i < LOOKS; i++) {
    uint64 before = __rdtsc();
    uint64 ns = clock_ns();
    uint64 took = __rdtsc() - before;
    if (took >= least) continue;
    least = took;
    best.cycles = before + took / 2;
    best.ns = ns;
  }
  return best;
}

void tailor_ticks_begin(void) {
  if (first_look.ns == 0) first_look = look();
}

double tailor_ns_per_cycle(void) {
  Look now = look();
  if (first_look.ns == 0 || now.cycles <= first_look.cycles || now.ns <= first_look.ns) return 0;
  return (double)(now.ns - first_look.ns) / (double)(now.cycles - first_look.cycles);
}
