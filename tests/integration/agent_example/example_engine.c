/*
 * The smallest engine that Tailor can profile: one "compiled" query, run once on the calling thread.
 * It runs just as well where no daemon is, or with TAILOR_DISABLE=1.
 *
 *   example_engine [WAIT_MS]    waits up to so long for the daemon at start and end
 */
#include <stdio.h>
#include <stdlib.h>
#include <tailor/agent.h>
#include <tailor/tag_scope.h>

/* A tailor.v1.Plan with one level, "operator", of two components: "scan" and "sum", which consumes it. An
 * engine would use a protobuf library, or compiler/tagging's DictionaryBuilder. */
/* clang-format off */
static const unsigned char kPlan[] = {
    0x2A, 0x25,                                                 /* levels, 37 bytes */
    0x0A, 0x08, 'o', 'p', 'e', 'r', 'a', 't', 'o', 'r',         /*   name */
    0x10, 0x02,                                                 /*   component_count */
    0x1A, 0x08, 0x08, 0x01, 0x12, 0x04, 's', 'c', 'a', 'n',     /*   components: id 1, name */
    0x1A, 0x0D, 0x08, 0x02, 0x12, 0x03, 's', 'u', 'm',          /*   components: id 2, name */
    0x1A, 0x01, 0x61, 0x22, 0x01, 0x01,                         /*     kind "a", inputs 1 */
};
/* clang-format on */

/* Works on behalf of whom the tag names. */
static unsigned long Run(const struct tailor_plan_ids* plan, const unsigned* column, size_t count) {
  TAILOR_TAG_SCOPE(TAILOR_TAGS_MEMORY_SLOT, tailor_tag(plan, 2, 0)); /* sum */
  unsigned long sum = 0;
  {
    TAILOR_TAG_SCOPE(TAILOR_TAGS_MEMORY_SLOT, tailor_tag(plan, 1, 0)); /* what sum asks of scan */
    for (size_t i = 0; i < count; ++i) sum += column[i];
  }
  if (tailor_thread_slot() && tailor_tag_read(TAILOR_TAGS_MEMORY_SLOT) != tailor_tag(plan, 2, 0)) return 0;
  return sum;
}

int main(int argc, char** argv) {
  uint32_t wait_ms = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
  struct tailor_agent_options options = {
      .size = sizeof(options), .engine_name = "example", .tag_strategy = TAILOR_TAGS_MEMORY_SLOT};
  if (tailor_agent_abi_version() >> 16 != TAILOR_AGENT_ABI_MAJOR) return 2;
  int error = tailor_agent_start(&options);
  if (error) fprintf(stderr, "not profiled: error %d\n", -error);
  if (wait_ms && !tailor_agent_barrier(wait_ms)) fprintf(stderr, "no daemon yet\n");
  tailor_thread_register("main");

  static unsigned column[1000];
  struct tailor_region_kind kind = {.name = "numbers", .role = TAILOR_REGION_COLUMN, .element_bytes = 4};
  tailor_region_add(tailor_region_kind_declare(&kind), column, sizeof(column));
  for (unsigned i = 0; i < 1000; ++i) column[i] = i;

  struct tailor_plan_ids plan = tailor_plan_new();
  tailor_plan_load(plan.id, kPlan, sizeof(kPlan));
  struct tailor_label label = {"query", "select sum(n) from numbers"};
  uint64_t execution = tailor_execution_begin(plan.id, &label, 1);
  tailor_mark_execution_begin(execution, plan.id);
  tailor_mark_morsel_begin(1, 0, 1000);
  unsigned long sum = Run(&plan, column, 1000);
  if (tailor_tag_read(TAILOR_TAGS_MEMORY_SLOT) != TAILOR_TAG_NONE) return 3; /* its scopes have ended */
  tailor_mark_morsel_end(1);
  tailor_mark_execution_end(execution);
  tailor_execution_end(execution, 1, NULL);

  if (wait_ms) tailor_agent_barrier(wait_ms);
  tailor_region_remove(column);
  tailor_plan_unload(plan.id);
  tailor_agent_stop(wait_ms);
  printf("%lu\n", sum);
  return sum == 499500 ? 0 : 1;
}
