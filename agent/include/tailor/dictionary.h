/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builders for what an engine says about its queries: plan dictionaries, code objects and their row tables.
 * They are for engines without a protobuf library: in C, or in another language over its foreign functions.
 * (C++ engines may use compiler/tagging's DictionaryBuilder instead; both make the same messages.)
 *
 *   struct tailor_plan_builder* plan = tailor_plan_builder_new("query 17");
 *   int32_t operators = tailor_plan_builder_add_level(plan, "operator");
 *   int32_t steps = tailor_plan_builder_add_level(plan, "step");
 *   uint32_t scan = tailor_plan_builder_add_component(plan, operators, "Scan lineitem", "scan");
 *   uint32_t step = tailor_plan_builder_add_component(plan, steps, "scan", "task");
 *   tailor_plan_builder_set_owners(plan, steps, step, &scan, 1);
 *   int error = tailor_plan_builder_load(plan, tailor_plan_new().id);
 *   tailor_plan_builder_free(plan);
 *
 * Errors stay with the builder: after the first one all further calls on it do nothing, and _error and _load
 * return it. So a caller may check once, at the end. The errors are -ENOMEM (memory is short), -EINVAL (a
 * level, component or offset that is not there) and -E2BIG (more than the daemon takes).
 *
 * A NULL builder is accepted everywhere; then calls return 0, or -EINVAL where they return an error. A
 * builder belongs to one thread at a time. Builders only use memory: they need no running agent. All of these
 * functions allocate memory; none of them blocks.
 *
 * Texts end with a zero byte, need not be UTF-8 (other bytes arrive as '?'), and may be NULL (empty). Kinds
 * and keys are cut to 4 KiB, other texts to 1 MiB.
 */
#ifndef TAILOR_DICTIONARY_H
#define TAILOR_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>
#include <tailor/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Plans -------------------------------------------------------------------------------------------- */

struct tailor_plan_builder;

/* `name` is short: "tpch-1", or the first words of the query. NULL if memory is short. */
TAILOR_EXPORT struct tailor_plan_builder* tailor_plan_builder_new(const char* name);
TAILOR_EXPORT void tailor_plan_builder_free(struct tailor_plan_builder* builder);

/* 0, or the first error. */
TAILOR_EXPORT int tailor_plan_builder_error(const struct tailor_plan_builder* builder);

/* Adds an abstraction level below those that were added before; the first one is the top, as a rule the
 * operators. Returns its number, from 0, or a negative errno. At most 16. */
TAILOR_EXPORT int32_t tailor_plan_builder_add_level(struct tailor_plan_builder* builder, const char* name);

/* Adds a component to a level: its name ("Hash join") and kind ("hash_join"). Returns its id, which counts
 * from 1 within the level; 0 after an error. */
TAILOR_EXPORT uint32_t tailor_plan_builder_add_component(struct tailor_plan_builder* builder, int32_t level,
                                                         const char* name, const char* kind);
/* Adds `count` components without names; their ids follow each other. Returns the first, 0 after an error.
 * For a lowest level of thousands of instructions; an attachment of kind "ir" can hold their texts, one a
 * line. */
TAILOR_EXPORT uint32_t tailor_plan_builder_add_components(struct tailor_plan_builder* builder, int32_t level,
                                                          uint32_t count);

/* Says which components of the level above a component was made for. With several of them its cost is split
 * evenly between them. Said again, the last call counts. */
TAILOR_EXPORT int tailor_plan_builder_set_owners(struct tailor_plan_builder* builder, int32_t level,
                                                 uint32_t component, const uint32_t* owners, size_t count);
/* Says that a component consumes the output of `input`, a component of the same level. Call it in the order
 * of the inputs. Of the top level this makes the tree of the plan. */
TAILOR_EXPORT int tailor_plan_builder_add_input(struct tailor_plan_builder* builder, int32_t level,
                                                uint32_t component, uint32_t input);
/* What a report can show with a component: "estimated_rows", "table", "predicate", or the engine's own keys.
 */
TAILOR_EXPORT int tailor_plan_builder_set_text(struct tailor_plan_builder* builder, int32_t level,
                                               uint32_t component, const char* key, const char* value);
TAILOR_EXPORT int tailor_plan_builder_set_number(struct tailor_plan_builder* builder, int32_t level,
                                                 uint32_t component, const char* key, double value);

/* Adds a pipeline whose steps are components of `task_level`. Returns its id, from 1; 0 after an error. */
TAILOR_EXPORT uint32_t tailor_plan_builder_add_pipeline(struct tailor_plan_builder* builder, const char* name,
                                                        int32_t task_level);
/* Adds a step to a pipeline, in the order in which tuples pass. */
TAILOR_EXPORT int tailor_plan_builder_add_task(struct tailor_plan_builder* builder, uint32_t pipeline,
                                               uint32_t task);
/* Says that `other` must end before `pipeline` begins. */
TAILOR_EXPORT int tailor_plan_builder_add_dependency(struct tailor_plan_builder* builder, uint32_t pipeline,
                                                     uint32_t other);

/* Names the levels of the two component ids in a tag (tailor_tag). Without a call these are the level above
 * the second-lowest, and the second-lowest; with one or two levels the top one alone. */
TAILOR_EXPORT int tailor_plan_builder_set_tag_levels(struct tailor_plan_builder* builder, int32_t upper,
                                                     int32_t lower);

/* Attaches a document: kind "sql" is the text of the query, "ir" has in line n the text of component n of the
 * lowest level. The bytes are copied. */
TAILOR_EXPORT int tailor_plan_builder_attach(struct tailor_plan_builder* builder, const char* kind,
                                             const void* content, size_t size);

/* Hands the plan to the agent, as tailor_plan_load does, with its results; or returns the builder's error.
 * The builder is as it was before: more can be added, and the plan loaded again. */
TAILOR_EXPORT int tailor_plan_builder_load(struct tailor_plan_builder* builder, uint64_t plan_id);

/* Writes the plan as tailor.v1.Plan into `out`, if it fits into `capacity` bytes. Returns its size, which may
 * be above the capacity; 0 after an error. For engines that keep compiled queries in files. */
TAILOR_EXPORT size_t tailor_plan_builder_serialise(struct tailor_plan_builder* builder, void* out,
                                                   size_t capacity);

/* ---- Code --------------------------------------------------------------------------------------------- */

struct tailor_code_builder;

/* How the row of a code object is known. */
enum tailor_row_flag {
  TAILOR_ROW_EXACT = 0,    /* these components made the bytes; several: shared between them */
  TAILOR_ROW_INFERRED = 1, /* guessed, from neighbours for example */
  TAILOR_ROW_SHARED = 2,   /* several owners */
  TAILOR_ROW_PROLOGUE = 3, /* sets up or tears down a frame; no components */
  TAILOR_ROW_UNMAPPED = 4, /* nothing is known; no components */
};

/* A range of machine code of a plan; 0 for code of the engine that belongs to no plan. The bytes in
 * [base, base + size) are read when the code is loaded, unless tailor_code_builder_set_code gave others.
 * `size` is above 0 and below 32 MiB. NULL if memory is short. */
TAILOR_EXPORT struct tailor_code_builder* tailor_code_builder_new(uint64_t plan_id, const void* base,
                                                                  size_t size);
TAILOR_EXPORT void tailor_code_builder_free(struct tailor_code_builder* builder);
/* 0, or the first error. */
TAILOR_EXPORT int tailor_code_builder_error(const struct tailor_code_builder* builder);

TAILOR_EXPORT int tailor_code_builder_set_name(struct tailor_code_builder* builder, const char* name);
/* "O0", "O2", "interpreter" ... */
TAILOR_EXPORT int tailor_code_builder_set_tier(struct tailor_code_builder* builder, const char* tier);
/* The machine code, where it cannot be read at its address. Copied; as many bytes as the range has. */
TAILOR_EXPORT int tailor_code_builder_set_code(struct tailor_code_builder* builder, const void* code,
                                               size_t size);
/* Leaves the machine code out, which is then not read either. Without it no data address of a sample is
 * computed from its instruction. */
TAILOR_EXPORT int tailor_code_builder_leave_code_out(struct tailor_code_builder* builder);

/* From `offset` on, until the next row, the code was made for `components` of the plan's lowest level.
 * Offsets do not decrease; a second row at an offset replaces the first. */
TAILOR_EXPORT int tailor_code_builder_add_row(struct tailor_code_builder* builder, uint32_t offset,
                                              const uint32_t* components, size_t count, uint32_t flag);
/* A function within the code. */
TAILOR_EXPORT int tailor_code_builder_add_symbol(struct tailor_code_builder* builder, uint32_t offset,
                                                 uint32_t size, const char* name);
/* The unwind table (.eh_frame) of the code, and the address it was loaded to. Copied. */
TAILOR_EXPORT int tailor_code_builder_set_eh_frame(struct tailor_code_builder* builder, const void* bytes,
                                                   size_t size, const void* address);
/* As tailor_plan_builder_attach. */
TAILOR_EXPORT int tailor_code_builder_attach(struct tailor_code_builder* builder, const char* kind,
                                             const void* content, size_t size);

/* Hands the code to the agent, as tailor_code_load does, with its results; or returns the builder's error. */
TAILOR_EXPORT int tailor_code_builder_load(struct tailor_code_builder* builder, uint64_t code_id);
/* The same, as tailor_code_load_since does. */
TAILOR_EXPORT int tailor_code_builder_load_since(struct tailor_code_builder* builder, uint64_t code_id,
                                                 uint64_t since);
/* As tailor_plan_builder_serialise, of a tailor.v1.CodeObject. */
TAILOR_EXPORT size_t tailor_code_builder_serialise(struct tailor_code_builder* builder, void* out,
                                                   size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
