/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ scopes for the marks of the calling thread. The constructor begins a mark, and the destructor ends it,
 * also when an exception passes. Scopes end in reverse order, on the thread that began them.
 *
 *   tailor::Execution execution(plan_id, labels, count);        the run of a query, on any number of threads
 *   tailor::ExecutionScope worker(execution.handle(), plan_id); this thread works for it
 *   tailor::PipelineScope pipeline(1);
 *   tailor::MorselScope morsel(1, first_tuple, tuples);
 *   tailor::ComponentScope parsing(tailor_component_declare("parse"));
 *   tailor::IterationScope iteration(loop, n);
 *
 * This header needs C++11. As in tailor/agent.h, handles of 0 are accepted and ignored, and nothing blocks.
 */
#ifndef TAILOR_SCOPES_H
#define TAILOR_SCOPES_H

#include <stddef.h>
#include <stdint.h>
#include <tailor/agent.h>

#ifdef __cplusplus
namespace tailor {

// A run of a plan. It ends as a success with the rows that were set, or as a failure if fail() was called. It
// does not notice an exception that passes: call fail() where the exception is caught.
class Execution {
 public:
  explicit Execution(uint64_t plan_id, const struct tailor_label* labels = nullptr, size_t count = 0)
      : handle_(tailor_execution_begin(plan_id, labels, count)) {}
  ~Execution() { tailor_execution_end(handle_, rows_, error_); }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  uint64_t handle() const { return handle_; }
  void set_rows(uint64_t rows) { rows_ = rows; }
  // `error` must live as long as this object.
  void fail(const char* error) { error_ = error; }

 private:
  uint64_t handle_;
  uint64_t rows_ = 0;
  const char* error_ = nullptr;
};

class ExecutionScope {
 public:
  ExecutionScope(uint64_t execution, uint64_t plan_id) : execution_(execution) {
    tailor_mark_execution_begin(execution, plan_id);
  }
  ~ExecutionScope() { tailor_mark_execution_end(execution_); }
  ExecutionScope(const ExecutionScope&) = delete;
  ExecutionScope& operator=(const ExecutionScope&) = delete;

 private:
  uint64_t execution_;
};

class PipelineScope {
 public:
  explicit PipelineScope(uint32_t pipeline) : pipeline_(pipeline) { tailor_mark_pipeline_begin(pipeline); }
  ~PipelineScope() { tailor_mark_pipeline_end(pipeline_); }
  PipelineScope(const PipelineScope&) = delete;
  PipelineScope& operator=(const PipelineScope&) = delete;

 private:
  uint32_t pipeline_;
};

class MorselScope {
 public:
  MorselScope(uint32_t pipeline, uint64_t first_tuple, uint64_t tuples) : pipeline_(pipeline) {
    tailor_mark_morsel_begin(pipeline, first_tuple, tuples);
  }
  ~MorselScope() { tailor_mark_morsel_end(pipeline_); }
  MorselScope(const MorselScope&) = delete;
  MorselScope& operator=(const MorselScope&) = delete;

 private:
  uint32_t pipeline_;
};

class ComponentScope {
 public:
  explicit ComponentScope(uint32_t component) : component_(component) {
    tailor_mark_component_begin(component);
  }
  ~ComponentScope() { tailor_mark_component_end(component_); }
  ComponentScope(const ComponentScope&) = delete;
  ComponentScope& operator=(const ComponentScope&) = delete;

 private:
  uint32_t component_;
};

// One turn of a loop. Its time ends when the next iteration begins, or when the thread's part of the
// execution ends. So construct it first in the body of the loop.
class IterationScope {
 public:
  IterationScope(uint32_t component, uint64_t number) { tailor_mark_iteration(component, number); }
  IterationScope(const IterationScope&) = delete;
  IterationScope& operator=(const IterationScope&) = delete;
};

}  // namespace tailor
#endif
#endif
