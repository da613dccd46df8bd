/* SPDX-License-Identifier: Apache-2.0 */
/* Marks the functions that the agent's library exports. */
#ifndef TAILOR_EXPORT_H
#define TAILOR_EXPORT_H

#include <stddef.h>

#define TAILOR_EXPORT __attribute__((visibility("default")))

#endif
