/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * Which executions are drawn, where a share of them is sampled: the BPF program and the daemon answer alike.
 */
#ifndef TAILOR_DRAW_H
#define TAILOR_DRAW_H

#include <stdint.h>

/* 1 if the execution is drawn. `number`: the first 8 bytes of its identity, little endian, as in
 * tailor_slot.execution; agents spread it evenly. `ppm`: how many of a million executions are drawn. Pure. */
static inline int tailor_draws(uint64_t number, uint32_t ppm) {
  return (((number >> 32) * UINT64_C(1000000)) >> 32) < ppm;
}

#endif
