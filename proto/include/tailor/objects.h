/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * Operators that are objects: the table that a thread publishes with tailor_thread_objects (tailor/agent.h).
 * Functions of an object have its address as their first argument, so call stacks tell which object works.
 * The table lies anywhere in the engine's memory.
 */
#ifndef TAILOR_OBJECTS_H
#define TAILOR_OBJECTS_H

#include <stdint.h>

/* The highest `count`. Objects beyond it are not known. */
#define TAILOR_OBJECTS_MAX 127u
/* Added to the address of an object that no tag names although other objects have tags: a stack that shows
 * it counts more than the tag. */
#define TAILOR_OBJECT_HIDDEN 1u

/* The head of the table. `count` addresses follow it at once, as uint64_t: at place i is the object of the
 * component with the id i + 1, on the upper level of the plan's tags; 0: it has none. For example:
 *
 *   struct { struct tailor_objects head; uint64_t object[3]; } table;
 */
struct tailor_objects {
  uint32_t count;
  uint32_t method; /* offset in an object of the address of the function that begins its work */
};

#endif
