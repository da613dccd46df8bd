/*
 * The smallest engine that Tailor can profile: one "compiled" query, run once on the calling thread.
 * It runs just as well where no daemon is, or with TAILOR_DISABLE=1.
 *
 *   example_engine [WAIT_MS]    waits up to so long for the daemon at start and end
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <tailor/agent.h>
#include <tailor/dictionary.h>
#include <tailor/tag_scope.h>
#include <time.h>

/* A plan with one level, "operator", of two components: "scan", and "sum", which consumes it. */
static int load_plan(uint64_t plan_id) {
  struct tailor_plan_builder* plan = tailor_plan_builder_new("sum of numbers");
  int32_t operators = tailor_plan_builder_add_level(plan, "operator");
  uint32_t scan = tailor_plan_builder_add_component(plan, operators, "scan", "scan");
  uint32_t sum = tailor_plan_builder_add_component(plan, operators, "sum", "aggregate");
  tailor_plan_builder_add_input(plan, operators, sum, scan);
  uint32_t pipeline = tailor_plan_builder_add_pipeline(plan, "main", operators);
  tailor_plan_builder_add_task(plan, pipeline, scan);
  tailor_plan_builder_add_task(plan, pipeline, sum);
  int error = tailor_plan_builder_load(plan, plan_id); /* errors of the calls before it, too */
  tailor_plan_builder_free(plan);
  return error;
}

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

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Runs so short that they share an execution. Each of them counts. */
static unsigned long RunOften(const struct tailor_plan_ids* plan, const unsigned* column, int times) {
  unsigned long sum = 0;
  struct tailor_label label = {TAILOR_RUNS_LABEL, TAILOR_RUNS_LABEL_VALUE};
  struct tailor_runs runs = {.size = sizeof(runs)};
  uint64_t execution = tailor_execution_begin(plan->id, &label, 1);
  for (int i = 0; i < times; ++i) {
    uint64_t begin = now_ns();
    sum += Run(plan, column, 10);
    tailor_runs_add(&runs, now_ns() - begin, 1, 0);
  }
  tailor_execution_end_runs(execution, &runs);
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
  struct tailor_region_kind kind = {
      .size = sizeof(kind), .name = "numbers", .role = TAILOR_REGION_COLUMN, .element_bytes = 4};
  tailor_region_add(tailor_region_kind_declare(&kind), column, sizeof(column));
  for (unsigned i = 0; i < 1000; ++i) column[i] = i;

  struct tailor_plan_ids plan = tailor_plan_new();
  int loaded = load_plan(plan.id);
  if (!error && loaded) fprintf(stderr, "plan not loaded: error %d\n", -loaded);
  struct tailor_label label = {"query", "select sum(n) from numbers"};
  uint64_t execution = tailor_execution_begin(plan.id, &label, 1);
  tailor_mark_execution_begin(execution, plan.id);
  tailor_mark_morsel_begin(1, 0, 1000);
  unsigned long sum = Run(&plan, column, 1000);
  if (tailor_tag_read(TAILOR_TAGS_MEMORY_SLOT) != TAILOR_TAG_NONE) return 3; /* its scopes have ended */
  tailor_mark_morsel_end(1);
  tailor_mark_execution_end(execution);
  tailor_execution_end(execution, 1, NULL);
  if (RunOften(&plan, column, 5) != 5 * 45) return 4;

  if (wait_ms) tailor_agent_barrier(wait_ms);
  tailor_region_remove(column);
  tailor_plan_unload(plan.id);
  tailor_agent_stop(wait_ms);
  printf("%lu\n", sum);
  return sum == 499500 ? 0 : 1;
}
