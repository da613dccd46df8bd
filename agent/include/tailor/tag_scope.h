/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tag on the engine's side of generated code, for C and C++: whom the calling thread works for while it
 * runs code that several components share.
 *
 *   C:    TAILOR_TAG_SCOPE(TAILOR_TAGS_R15, tag);          until the end of the block
 *   C++:  tailor::TagScope scope(TAILOR_TAGS_R15, tag);    the same, also when an exception passes
 *
 * Scopes nest, innermost first: each puts back what it found, which with a register may be a value of code
 * that is not the engine's. A tag of 0 says "nobody in particular", as around a callback that leaves the
 * query.
 *
 * `strategy` is the one given to tailor_agent_start; a constant costs one move each way, a variable two well
 * predicted branches more. What it needs of the code that runs inside:
 *
 *   TAILOR_TAGS_R15          compiled with -ffixed-r15 (gcc), as is the file that includes this header
 *   TAILOR_TAGS_SWIFTSELF    the same with -ffixed-r13
 *   TAILOR_TAGS_MEMORY_SLOT  nothing
 *   TAILOR_TAGS_NONE         nothing; scopes do nothing
 *
 * Libraries that were compiled otherwise save the register before they use it, so they never lose it for the
 * engine; while they use it the sample has no valid tag.
 *
 * Any thread. Async-signal-safe with the register strategies. Register tagging: Beischl et al., "Profiling
 * Dataflow Systems on Multiple Abstraction Levels", EuroSys 2021, section 4.2.5.
 */
#ifndef TAILOR_TAG_SCOPE_H
#define TAILOR_TAG_SCOPE_H

#include <stdint.h>
#include <tailor/agent.h>
#include <tailor/tag.h>

/* The calling thread's tag; with a register strategy and outside of all scopes whatever the register holds.
 */
static inline uint64_t tailor_tag_read(uint32_t strategy) {
  uint64_t tag = TAILOR_TAG_NONE;
#if defined(__linux__) && defined(__x86_64__)
  if (strategy == TAILOR_TAGS_R15) __asm__ volatile("mov %%r15, %0" : "=r"(tag));
  if (strategy == TAILOR_TAGS_SWIFTSELF) __asm__ volatile("mov %%r13, %0" : "=r"(tag));
#endif
  if (strategy == TAILOR_TAGS_MEMORY_SLOT) {
    const uint64_t* slot = tailor_thread_slot();
    if (slot) tag = __atomic_load_n(slot, __ATOMIC_RELAXED);
  }
  return tag;
}

/* Makes it `tag`. The compiler moves no memory access or call across the write. */
static inline void tailor_tag_write(uint32_t strategy, uint64_t tag) {
#if defined(__linux__) && defined(__x86_64__)
  if (strategy == TAILOR_TAGS_R15) __asm__ volatile("mov %0, %%r15" : : "r"(tag) : "memory");
  if (strategy == TAILOR_TAGS_SWIFTSELF) __asm__ volatile("mov %0, %%r13" : : "r"(tag) : "memory");
#endif
  if (strategy == TAILOR_TAGS_MEMORY_SLOT) {
    uint64_t* slot = tailor_thread_slot();
    if (slot) __atomic_store_n(slot, tag, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }
}

/* A scope by hand: what tailor_tag_enter returns must be given to tailor_tag_leave on the same thread. */
struct tailor_tag_scope {
  uint64_t before;
  uint32_t strategy;
};
static inline struct tailor_tag_scope tailor_tag_enter(uint32_t strategy, uint64_t tag) {
  struct tailor_tag_scope scope = {tailor_tag_read(strategy), strategy};
  tailor_tag_write(strategy, tag);
  return scope;
}
static inline void tailor_tag_leave(const struct tailor_tag_scope* scope) {
  tailor_tag_write(scope->strategy, scope->before);
}

#define TAILOR_TAG_JOIN_(a, b) a##b
#define TAILOR_TAG_NAME_(a, b) TAILOR_TAG_JOIN_(a, b)
/* A statement: the tag holds until the end of the enclosing block, however it is left (not by longjmp). */
#define TAILOR_TAG_SCOPE(strategy, tag)                                                              \
  __attribute__((cleanup(tailor_tag_leave), unused)) const struct tailor_tag_scope TAILOR_TAG_NAME_( \
      tailor_tag_scope_, __LINE__) = tailor_tag_enter(strategy, tag)

#ifdef __cplusplus
namespace tailor {

class TagScope {
 public:
  TagScope(uint32_t strategy, uint64_t tag) : scope_(tailor_tag_enter(strategy, tag)) {}
  ~TagScope() { tailor_tag_leave(&scope_); }
  TagScope(const TagScope&) = delete;
  TagScope& operator=(const TagScope&) = delete;

 private:
  tailor_tag_scope scope_;
};

}  // namespace tailor
#endif
#endif
