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
 * A variable costs two well predicted branches more. So that tags hold, the code that runs inside of a scope
 * must fulfil this:
 *
 *   TAILOR_TAGS_R15          it is compiled with -ffixed-r15 (gcc), and so is the file with the scope
 *   TAILOR_TAGS_SWIFTSELF    the same with -ffixed-r13
 *   TAILOR_TAGS_MEMORY_SLOT  nothing
 *   TAILOR_TAGS_NONE         nothing: scopes do nothing
 *
 * Libraries that were compiled without these options save the register before they use it, so the engine
 * never loses its tag. While they use it, a sample finds no valid tag in the register.
 *
 * A file with scopes that was compiled without the option computes right results too, with every compiler and
 * at every level of optimisation: the compiler knows that a scope changes the register. But the compiler uses
 * the register for values of its own, inside of a scope too, and puts back the caller's value when a function
 * returns. So tags may be lost there, and samples are then not attributed. clang has no such option for
 * x86-64. Three things tell of it:
 *
 *   - each file that includes this header looks, when the program starts, whether its compiler keeps the
 *     register free. If it does not, and the engine's strategy is this register, the agent says so
 *     (tailor_agent_notice) and the daemon hears it. A library that was opened with dlopen hears nothing.
 *   - tailor_tag_is_kept tells it to the engine, which may then choose TAILOR_TAGS_MEMORY_SLOT.
 *   - clang warns of each scope whose strategy is a constant that names a register.
 *
 * Any thread may use this. It is async-signal-safe with the register strategies. Register tagging: Beischl et
 * al., "Profiling Dataflow Systems on Multiple Abstraction Levels", EuroSys 2021, section 4.2.5.
 */
#ifndef TAILOR_TAG_SCOPE_H
#define TAILOR_TAG_SCOPE_H

#include <stdint.h>
#include <tailor/agent.h>
#include <tailor/tag.h>

/* Inlined at every level of optimisation: a function that changes the register, and may not, would put back
 * what it found when it returns. */
#define TAILOR_TAG_INLINE_ inline __attribute__((always_inline))

#if defined(__clang__) && defined(__x86_64__)
#define TAILOR_TAG_CHECKED_(strategy)                                                                        \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wgcc-compat\"")                      \
      __attribute__((diagnose_if((strategy) == TAILOR_TAGS_R15 || (strategy) == TAILOR_TAGS_SWIFTSELF,       \
                                 "clang uses this register for other values too, so tags may be lost here; " \
                                 "compile with gcc and -ffixed-r15 or -ffixed-r13, or use "                  \
                                 "TAILOR_TAGS_MEMORY_SLOT",                                                  \
                                 "warning"))) _Pragma("clang diagnostic pop")
#else
#define TAILOR_TAG_CHECKED_(strategy)
#endif

/* Returns the calling thread's tag. With a register strategy, outside of all scopes, this is any value that
 * the register holds. */
static TAILOR_TAG_INLINE_ uint64_t tailor_tag_read(uint32_t strategy) {
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

/* Sets the calling thread's tag. The compiler moves no memory access or call across the write. Code that
 * uses this alone, in a file that was compiled with -ffixed-r15 or -ffixed-r13, must put back what
 * tailor_tag_read gave before it returns to code that was not: that code may have a value of its own in the
 * register. */
static TAILOR_TAG_INLINE_ void tailor_tag_write(uint32_t strategy, uint64_t tag) {
#if defined(__linux__) && defined(__x86_64__)
  /* The registers must be named as changed. Where the compiler may use them, it would lose values else. */
  if (strategy == TAILOR_TAGS_R15) __asm__ volatile("mov %0, %%r15" : : "r"(tag) : "r15", "memory");
  if (strategy == TAILOR_TAGS_SWIFTSELF) __asm__ volatile("mov %0, %%r13" : : "r"(tag) : "r13", "memory");
#endif
  if (strategy == TAILOR_TAGS_MEMORY_SLOT) {
    uint64_t* slot = tailor_thread_slot();
    if (slot) __atomic_store_n(slot, tag, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }
}

/* ---- Does the compiler of this file keep the register free? -------------------------------------------- */

#if defined(__linux__) && defined(__x86_64__)
/* A function that changes the register. It puts back what it found if the compiler may use the register, and
 * does not if the register is kept free. This is what tailor_tag_is_kept looks at. */
static __attribute__((noinline)) void tailor_tag_change_register(uint32_t strategy, uint64_t value) {
  tailor_tag_write(strategy, ~value);
}
#endif

/* Returns 1 if tags in the place of this strategy hold in the file that calls this, else 0: the compiler may
 * use the register for other values there. The options of that file decide, not those of its callers and
 * callees. TAILOR_TAGS_MEMORY_SLOT and TAILOR_TAGS_NONE give 1. Async-signal-safe. */
static inline int tailor_tag_is_kept(uint32_t strategy) {
#if defined(__linux__) && defined(__x86_64__)
  const uint64_t before = tailor_tag_read(strategy);
  uint64_t value = before, after;
  if (strategy != TAILOR_TAGS_R15 && strategy != TAILOR_TAGS_SWIFTSELF) return 1;
  tailor_tag_change_register(strategy, value);
  after = tailor_tag_read(strategy);
  tailor_tag_write(strategy, before);
  /* Not earlier: else the compiler might have had ~value in that register itself. */
  __asm__ volatile("" : "+r"(value));
  return after == ~value;
#else
  return strategy != TAILOR_TAGS_R15 && strategy != TAILOR_TAGS_SWIFTSELF;
#endif
}

#if defined(__linux__) && defined(__x86_64__)
/* Missing in a program that opens the agent with dlopen, and in older agents. */
#pragma weak tailor_tag_not_kept
static __attribute__((constructor)) void tailor_tag_look_at_start(void) {
  if (!tailor_tag_not_kept) return;
  if (!tailor_tag_is_kept(TAILOR_TAGS_R15)) tailor_tag_not_kept(TAILOR_TAGS_R15, __BASE_FILE__);
  if (!tailor_tag_is_kept(TAILOR_TAGS_SWIFTSELF)) tailor_tag_not_kept(TAILOR_TAGS_SWIFTSELF, __BASE_FILE__);
}
#endif

/* ---- Scopes -------------------------------------------------------------------------------------------- */

/* A scope by hand: pass the result of tailor_tag_enter to tailor_tag_leave, on the same thread, and in the
 * same function. */
struct tailor_tag_scope {
  uint64_t before;
  uint32_t strategy;
};
static TAILOR_TAG_INLINE_ struct tailor_tag_scope tailor_tag_enter(uint32_t strategy, uint64_t tag)
    TAILOR_TAG_CHECKED_(strategy);
static TAILOR_TAG_INLINE_ struct tailor_tag_scope tailor_tag_enter(uint32_t strategy, uint64_t tag) {
  struct tailor_tag_scope scope = {tailor_tag_read(strategy), strategy};
  tailor_tag_write(strategy, tag);
  return scope;
}
static TAILOR_TAG_INLINE_ void tailor_tag_leave(const struct tailor_tag_scope* scope) {
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
  TAILOR_TAG_INLINE_ TagScope(uint32_t strategy, uint64_t tag) TAILOR_TAG_CHECKED_(strategy)
      : scope_(tailor_tag_enter(strategy, tag)) {}
  TAILOR_TAG_INLINE_ ~TagScope() { tailor_tag_leave(&scope_); }
  TagScope(const TagScope&) = delete;
  TagScope& operator=(const TagScope&) = delete;

 private:
  tailor_tag_scope scope_;
};

}  // namespace tailor
#endif
#endif
