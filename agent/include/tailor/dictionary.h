/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builders for the data that describes an engine's queries: plan dictionaries, code objects and their row
 * tables. They are for engines without a protobuf library: engines in C, or in another language that can call
 * C functions. C++ engines may use compiler/tagging's DictionaryBuilder instead. Both make the same messages.
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
 * The builder keeps its first error. After it, all further calls on the builder do nothing, and _error and
 * _load return it. So a caller may check once, at the end. The errors are -ENOMEM (memory is short), -EINVAL
 * (a level, component or offset that does not exist) and -E2BIG (more than the daemon accepts).
 *
 * A NULL builder is accepted everywhere. Then a call returns 0, or -EINVAL if it returns an error. Only one
 * thread at a time may use a builder. Builders only use memory; they need no running agent. All of these
 * functions allocate memory, and none of them blocks.
 *
 * Texts end with a zero byte. They need not be UTF-8: other bytes arrive as '?'. NULL means an empty text.
 * Kinds and keys are cut to 4 KiB, other texts to 1 MiB.
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

/* `name` is short: "tpch-1", or the first words of the query. Returns NULL if memory is short. */
TAILOR_EXPORT struct tailor_plan_builder* tailor_plan_builder_new(const char* name);
TAILOR_EXPORT void tailor_plan_builder_free(struct tailor_plan_builder* builder);

/* 0, or the first error. */
TAILOR_EXPORT int tailor_plan_builder_error(const struct tailor_plan_builder* builder);

/* Adds an abstraction level below the levels that were added before. The first level is the top; as a rule it
 * holds the operators. Returns its number, which counts from 0, or a negative errno. A plan has at most 16
 * levels. */
TAILOR_EXPORT int32_t tailor_plan_builder_add_level(struct tailor_plan_builder* builder, const char* name);

/* Adds a component to a level, with its name ("Hash join") and kind ("hash_join"). Returns its id, which
 * counts from 1 within the level, or 0 after an error. */
TAILOR_EXPORT uint32_t tailor_plan_builder_add_component(struct tailor_plan_builder* builder, int32_t level,
                                                         const char* name, const char* kind);
/* Adds `count` components without names. Their ids follow each other. Returns the first id, or 0 after an
 * error. This is for a lowest level of thousands of instructions. An attachment of kind "ir" can hold their
 * texts, one in each line. */
TAILOR_EXPORT uint32_t tailor_plan_builder_add_components(struct tailor_plan_builder* builder, int32_t level,
                                                          uint32_t count);

/* Sets the owners of a component: the components of the level above for which it was made. Several owners
 * share its cost evenly. If it is called again, the last call counts. */
TAILOR_EXPORT int tailor_plan_builder_set_owners(struct tailor_plan_builder* builder, int32_t level,
                                                 uint32_t component, const uint32_t* owners, size_t count);
/* A component consumes the output of `input`, a component of the same level. Call this in the order of the
 * inputs. On the top level this makes the tree of the plan. */
TAILOR_EXPORT int tailor_plan_builder_add_input(struct tailor_plan_builder* builder, int32_t level,
                                                uint32_t component, uint32_t input);
/* Attributes that a report can show with a component: "estimated_rows", "table", "predicate", or the engine's
 * own keys. */
TAILOR_EXPORT int tailor_plan_builder_set_text(struct tailor_plan_builder* builder, int32_t level,
                                               uint32_t component, const char* key, const char* value);
TAILOR_EXPORT int tailor_plan_builder_set_number(struct tailor_plan_builder* builder, int32_t level,
                                                 uint32_t component, const char* key, double value);

/* Adds a pipeline whose steps are components of `task_level`. Returns its id, which counts from 1, or 0 after
 * an error. */
TAILOR_EXPORT uint32_t tailor_plan_builder_add_pipeline(struct tailor_plan_builder* builder, const char* name,
                                                        int32_t task_level);
/* Adds a step to a pipeline. Call this in the order in which tuples pass the steps. */
TAILOR_EXPORT int tailor_plan_builder_add_task(struct tailor_plan_builder* builder, uint32_t pipeline,
                                               uint32_t task);
/* The pipeline `other` must end before `pipeline` begins. */
TAILOR_EXPORT int tailor_plan_builder_add_dependency(struct tailor_plan_builder* builder, uint32_t pipeline,
                                                     uint32_t other);

/* Sets the levels of the two component ids in a tag (tailor_tag). Without this call they are the level above
 * the second-lowest, and the second-lowest. In a plan with one or two levels, a tag holds only the top level.
 */
TAILOR_EXPORT int tailor_plan_builder_set_tag_levels(struct tailor_plan_builder* builder, int32_t upper,
                                                     int32_t lower);

/* Attaches a document. Kind "sql" is the text of the query. Line n of kind "ir" is the text of component n of
 * the lowest level. The bytes are copied. */
TAILOR_EXPORT int tailor_plan_builder_attach(struct tailor_plan_builder* builder, const char* kind,
                                             const void* content, size_t size);

/* Passes the plan to the agent. Returns the builder's error, or the result of tailor_plan_load. The builder
 * does not change: more can be added to it, and the plan can be loaded again. */
TAILOR_EXPORT int tailor_plan_builder_load(struct tailor_plan_builder* builder, uint64_t plan_id);

/* Writes the plan as tailor.v1.Plan into `out`, if it fits into `capacity` bytes. Returns its size, which may
 * be larger than the capacity, or 0 after an error. This is for engines that keep compiled queries in files.
 */
TAILOR_EXPORT size_t tailor_plan_builder_serialise(struct tailor_plan_builder* builder, void* out,
                                                   size_t capacity);

/* ---- Code --------------------------------------------------------------------------------------------- */

struct tailor_code_builder;

/* How good the information in a row of a code object is. */
enum tailor_row_flag {
  TAILOR_ROW_EXACT = 0,    /* the bytes were made for these components; several share them */
  TAILOR_ROW_INFERRED = 1, /* a guess, for example from neighbours */
  TAILOR_ROW_SHARED = 2,   /* several owners */
  TAILOR_ROW_PROLOGUE = 3, /* sets up or tears down a frame; no components */
  TAILOR_ROW_UNMAPPED = 4, /* nothing is known; no components */
};

/* Begins a code object: a range of machine code of the plan `plan_id`. 0 means code of the engine that
 * belongs to no plan. The bytes in [base, base + size) are read when the code is loaded, unless
 * tailor_code_builder_set_code gave other bytes. `size` is above 0 and below 32 MiB. Returns NULL if memory
 * is short. */
TAILOR_EXPORT struct tailor_code_builder* tailor_code_builder_new(uint64_t plan_id, const void* base,
                                                                  size_t size);
TAILOR_EXPORT void tailor_code_builder_free(struct tailor_code_builder* builder);
/* 0, or the first error. */
TAILOR_EXPORT int tailor_code_builder_error(const struct tailor_code_builder* builder);

TAILOR_EXPORT int tailor_code_builder_set_name(struct tailor_code_builder* builder, const char* name);
/* "O0", "O2", "interpreter" ... */
TAILOR_EXPORT int tailor_code_builder_set_tier(struct tailor_code_builder* builder, const char* tier);
/* Sets the machine code, if it cannot be read at its address. `size` is the size of the range. The bytes are
 * copied. */
TAILOR_EXPORT int tailor_code_builder_set_code(struct tailor_code_builder* builder, const void* code,
                                               size_t size);
/* Leaves the machine code out. It is then not read either, and no data address of a sample is computed from
 * its instruction. */
TAILOR_EXPORT int tailor_code_builder_leave_code_out(struct tailor_code_builder* builder);

/* Adds a row: from `offset` to the next row, the code was made for `components` of the plan's lowest level.
 * Offsets must not decrease. A second row at the same offset replaces the first. */
TAILOR_EXPORT int tailor_code_builder_add_row(struct tailor_code_builder* builder, uint32_t offset,
                                              const uint32_t* components, size_t count, uint32_t flag);
/* Adds a function within the code. */
TAILOR_EXPORT int tailor_code_builder_add_symbol(struct tailor_code_builder* builder, uint32_t offset,
                                                 uint32_t size, const char* name);
/* Sets the unwind table (.eh_frame) of the code, and the address at which it lies. The bytes are copied. */
TAILOR_EXPORT int tailor_code_builder_set_eh_frame(struct tailor_code_builder* builder, const void* bytes,
                                                   size_t size, const void* address);
/* Does the same as tailor_plan_builder_attach. */
TAILOR_EXPORT int tailor_code_builder_attach(struct tailor_code_builder* builder, const char* kind,
                                             const void* content, size_t size);

/* Passes the code to the agent. Returns the builder's error, or the result of tailor_code_load. */
TAILOR_EXPORT int tailor_code_builder_load(struct tailor_code_builder* builder, uint64_t code_id);
/* The same for tailor_code_load_since. */
TAILOR_EXPORT int tailor_code_builder_load_since(struct tailor_code_builder* builder, uint64_t code_id,
                                                 uint64_t since);
/* Does the same as tailor_plan_builder_serialise, for a tailor.v1.CodeObject. */
TAILOR_EXPORT size_t tailor_code_builder_serialise(struct tailor_code_builder* builder, void* out,
                                                   size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
