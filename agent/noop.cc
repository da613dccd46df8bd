// The agent on platforms where there is nothing to be profiled with: every function does nothing, in the way
// that <tailor/agent.h> promises without a daemon.
#include <tailor/agent.h>

#include <cerrno>
#include <cstring>

uint32_t tailor_agent_abi_version(void) {
  return TAILOR_AGENT_ABI_MAJOR << 16 | TAILOR_AGENT_ABI_MINOR;
}
int tailor_agent_start(const struct tailor_agent_options*) {
  return -ENOTSUP;
}
void tailor_agent_stop(uint32_t) {}
int tailor_agent_pump(void) {
  return -ENOTSUP;
}
int tailor_agent_connected(void) {
  return 0;
}
int tailor_agent_barrier(uint32_t) {
  return 0;
}
void tailor_agent_get_counters(struct tailor_agent_counters* out) {
  constexpr size_t kSize = sizeof(out->size);
  if (!out || out->size < kSize) return;
  size_t known = out->size < sizeof(*out) ? out->size : sizeof(*out);
  std::memset(reinterpret_cast<char*>(out) + kSize, 0, known - kSize);
}
const char* tailor_agent_notice(uint32_t) {
  return nullptr;
}
void tailor_tag_not_kept(uint32_t, const char*) {}
int tailor_thread_register(const char*) {
  return -ENOTSUP;
}
struct tailor_other_thread* tailor_other_thread_add(uint32_t, const char*, uint64_t, uint64_t, uint32_t) {
  return nullptr;
}
void tailor_other_thread_remove(struct tailor_other_thread*) {}
uint64_t* tailor_thread_slot(void) {
  return nullptr;
}
const struct tailor_objects* tailor_thread_objects(const struct tailor_objects*) {
  return nullptr;
}
void tailor_thread_waits(const uint32_t*) {}
void tailor_thread_anchor(const struct tailor_frame_anchor*) {}
void tailor_wait_names(const struct tailor_wait_name*, size_t) {}
void tailor_blocked(uint32_t, uint64_t, const uint32_t*, size_t) {}
struct tailor_plan_ids tailor_plan_new(void) {
  return {};
}
int tailor_plan_load(uint64_t, const void*, size_t) {
  return -ENOTSUP;
}
void tailor_plan_unload(uint64_t) {}
uint64_t tailor_tag(const struct tailor_plan_ids*, uint32_t, uint32_t) {
  return 0;
}
uint64_t tailor_code_new(void) {
  return 0;
}
int tailor_code_load(uint64_t, const void*, size_t) {
  return -ENOTSUP;
}
int tailor_code_load_since(uint64_t, const void*, size_t, uint64_t) {
  return -ENOTSUP;
}
void tailor_code_unload(uint64_t) {}
uint64_t tailor_execution_begin(uint64_t, const struct tailor_label*, size_t) {
  return 0;
}
void tailor_execution_end(uint64_t, uint64_t, const char*) {}
void tailor_runs_add(struct tailor_runs*, uint64_t, uint64_t, int) {}
void tailor_execution_end_runs(uint64_t, const struct tailor_runs*) {}
uint32_t tailor_execution_tag_strategy(uint64_t) {
  return TAILOR_TAGS_NONE;
}
void tailor_execution_id(uint64_t, uint8_t out[16]) {
  if (out) std::memset(out, 0, 16);
}
void tailor_mark_execution_begin(uint64_t, uint64_t) {}
void tailor_mark_execution_end(uint64_t) {}
void tailor_mark_pipeline_begin(uint32_t) {}
void tailor_mark_pipeline_end(uint32_t) {}
void tailor_mark_morsel_begin(uint32_t, uint64_t, uint64_t) {}
void tailor_mark_morsel_end(uint32_t) {}
void tailor_mark_component_begin(uint32_t) {}
void tailor_mark_component_end(uint32_t) {}
void tailor_mark_iteration(uint32_t, uint64_t) {}
void tailor_work_save(struct tailor_saved_work* work) {
  if (!work || work->size < sizeof(*work)) return;
  work->tag = 0;
  work->count = work->left_out = 0;
}
void tailor_work_restore(const struct tailor_saved_work*) {}
uint32_t tailor_component_declare(const char*) {
  return 0;
}
void tailor_component_code(uint32_t, const void*, const void*) {}
uint32_t tailor_region_kind_declare(const struct tailor_region_kind*) {
  return 0;
}
void tailor_region_add(uint32_t, const void*, uint64_t) {}
void tailor_region_remove(const void*) {}
