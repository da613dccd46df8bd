/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tags for the engine's own C and C++ code. A tag says for which component the calling thread works while it
 * runs code that several components share.
 *
 *   C:    TAILOR_TAG_SCOPE(TAILOR_TAGS_R15, tag);          until the end of the block
 *   C++:  tailor::TagScope scope(TAILOR_TAGS_R15, tag);    the same, also when an exception passes
 *
 * Scopes nest. Each scope puts back the value that it found. In a register, this may be a value of code that
 * is not the engine's. A tag of 0 means "for no component", for example around a callback that leaves the
 * query.
 *
 * `strategy` is the strategy given to tailor_agent_start. A constant costs one move at each end of the scope.
 * A variable costs two well predicted branches more. The code that runs inside of a scope must fulfil this:
 *
 *   TAILOR_TAGS_R15          it is compiled with -ffixed-r15 (gcc), and so is the file with the scope
 *   TAILOR_TAGS_SWIFTSELF    the same with -ffixed-r13
 *   TAILOR_TAGS_MEMORY_SLOT  nothing
 *   TAILOR_TAGS_NONE         nothing: scopes do nothing
 *
 * Libraries that were compiled without these options save the register before they use it, so the engine
 * never loses its tag. While they use it, a sample finds no valid tag in the register.
 *
 * Any thread may use this. It is async-signal-safe with the register strategies. Register tagging: Beischl et
 * al., "Profiling Dataflow Systems on Multiple Abstraction Levels", EuroSys 2021, section 4.2.5.
 */
#ifndef TAILOR_TAG_SCOPE_H
#define TAILOR_TAG_SCOPE_H

#include <stdint.h>
#include <tailor/agent.h>
#include <tailor/tag.h>

/* Returns the calling thread's tag. With a register strategy, outside of all scopes, this is any value that
 * the register holds. */
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

/* Sets the calling thread's tag. The compiler moves no memory access or call across the write. */
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

/* A scope by hand: pass the result of tailor_tag_enter to tailor_tag_leave, on the same thread. */
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
/* A statement: the tag holds until the enclosing block is left, in any way except longjmp. */
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
