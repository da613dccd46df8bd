/* An engine whose operators are objects. It knows the agent by its installed headers alone. */
#include <stddef.h>
#include <stdio.h>
#include <tailor/agent.h>

struct operator_object {
  uint64_t rows;
  int (*next)(struct operator_object*);
};

static int next_row(struct operator_object* self) {
  return ++self->rows < 10;
}

static struct operator_object scan = {0, next_row}, bitmap = {0, next_row};
static struct {
  struct tailor_objects head;
  uint64_t object[3];
} table = {{3, offsetof(struct operator_object, next)}, {0}};

_Static_assert(offsetof(struct tailor_objects, method) == 4 && sizeof(struct tailor_objects) == 8 &&
                   sizeof table == 32,
               "addresses follow the head at once");
_Static_assert(TAILOR_OBJECTS_MAX >= 3, "the whole table is known");

int main(void) {
  struct tailor_agent_options options = {
      .size = sizeof(options), .engine_name = "objects", .tag_strategy = TAILOR_TAGS_MEMORY_SLOT};
  if (tailor_agent_start(&options) != 0) return 1;
  table.object[0] = (uint64_t)(uintptr_t)&scan;
  table.object[2] = (uint64_t)(uintptr_t)&bitmap | TAILOR_OBJECT_HIDDEN;
  if (tailor_thread_objects(&table.head) != NULL) return 2;
  while (scan.next(&scan)) {
  }
  if (tailor_thread_objects(NULL) != &table.head) return 3;
  if (tailor_thread_objects(NULL) != NULL) return 4;
  tailor_agent_stop(0);
  puts("published");
  return 0;
}
