#include "compiler/weft/exec/execution.h"

#include <tailor/tag_scope.h>
#include <x86intrin.h>

#include <cstring>
#include <ctime>
#include <mutex>
#include <optional>

#include "compiler/weft/codegen/row_layout.h"
#include "compiler/weft/exec/components.h"
#include "compiler/weft/runtime/query_error.h"
#include "compiler/weft/runtime/tuple_buffer.h"
#include "proto/base/errors.h"

namespace tailor::weft {
namespace {

std::int64_t now(clockid_t clock) {
  timespec time;
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// A block of state with its objects, made and destroyed in order.
class StateBlock {
 public:
  StateBlock(const CompiledQuery& query, const StateLayout& layout, Frame& frame)
      : query_(query), layout_(layout), frame_(frame) {}
  ~StateBlock() {
    for (std::size_t i = made_; i-- > 0;) {
      const StateLayout::Object& object = layout_.objects()[i];
      TagScope scope(query_.tag_strategy(), query_.tag(object.owner, 0));
      object.destroy(memory_ + object.offset);
    }
    frame_.account->free(memory_, layout_.size());
  }
  StateBlock(const StateBlock&) = delete;
  StateBlock& operator=(const StateBlock&) = delete;

  // Throws QueryError. The memory is zeroed but for the objects.
  std::byte* make() {
    memory_ = static_cast<std::byte*>(frame_.account->allocate_zeroed(layout_.size(), layout_.region()));
    for (const StateLayout::Object& object : layout_.objects()) {
      TagScope scope(query_.tag_strategy(), query_.tag(object.owner, 0));
      object.make(memory_ + object.offset, frame_);
      ++made_;
    }
    return memory_;
  }

 private:
  const CompiledQuery& query_;
  const StateLayout& layout_;
  Frame& frame_;
  std::byte* memory_ = nullptr;
  std::size_t made_ = 0;
};

class Execution {
 public:
  // `handle`: as tailor_execution_begin() gave it.
  Execution(const CompiledQuery& query, WorkerPool& pool, const ExecuteOptions& options, std::uint64_t handle)
      : query_(query),
        program_(query.program()),
        pool_(pool),
        options_(options),
        account_(options.memory_limit),
        shared_(query, program_.shared, frame_),
        cpu_ns_(pool.workers(), 0),
        handle_(handle) {
    frame_.account = &account_;
    frame_.function = [&query](const std::string& name) { return query.code().address(name); };
  }

  Result<ExecutionOutcome> run() {
    ExecutionOutcome outcome;
    tailor_execution_id(handle_, outcome.id.data());
    std::int64_t begin = now(CLOCK_MONOTONIC);
    on_worker(0, [&] {
      WorkScope work(EngineWork::kMemory);
      make_state();
    });
    outcome.first_code = now(CLOCK_MONOTONIC);
    for (const PipelineProgram& pipeline : program_.pipelines) {
      if (failure_) break;
      run_pipeline(pipeline);
    }
    if (!failure_) {
      on_worker(0, [&] {
        // The output operator's work; where a library has the tag register in use it is at least known as
        // output.
        WorkScope work(EngineWork::kOutput);
        TagScope scope(query_.tag_strategy(), query_.tag(program_.result_operator, program_.result_task));
        read_result(outcome.result);
      });
    }
    outcome.peak_memory = account_.peak();
    if (program_.instrumented && !failure_) outcome.operator_cycles = operator_cycles();
    if (program_.counts_rows && !failure_) outcome.operator_rows = operator_rows(outcome.result.rows);
    on_worker(0, [&] {
      WorkScope work(EngineWork::kMemory);
      locals_.clear();
    });
    outcome.wall_ns = now(CLOCK_MONOTONIC) - begin;
    for (std::int64_t ns : cpu_ns_) outcome.cpu_ns += ns;
    tailor_execution_end(handle_, outcome.result.rows, failure_ ? failure_->message.c_str() : nullptr);
    if (failure_) return *std::move(failure_);
    if (program_.counts_rows) {
      WorkScope work(EngineWork::kRegister);
      query_.tell_rows(outcome.operator_rows);
    }
    return outcome;
  }

 private:
  // Does work for this execution on the calling worker, and accounts for its time and errors.
  template <typename Work>
  void on_worker(unsigned worker, const Work& work) {
    std::int64_t begin = now(CLOCK_THREAD_CPUTIME_ID);
    tailor_mark_execution_begin(handle_, query_.ids().id);
    try {
      TagScope none(query_.tag_strategy(), TAILOR_TAG_NONE);
      work();
    } catch (const QueryError& error) {
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = internal(error.message);
      stop_.store(true, std::memory_order_relaxed);
    } catch (const std::bad_alloc&) {
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = exhausted("the system has no memory left");
      stop_.store(true, std::memory_order_relaxed);
    }
    tailor_mark_execution_end(handle_);
    cpu_ns_[worker] += now(CLOCK_THREAD_CPUTIME_ID) - begin;
  }

  // On as many workers as there is work for.
  template <typename Work>
  void on_workers(std::uint64_t pieces, const Work& work) {
    auto job = [&](unsigned worker) { on_worker(worker, [&] { work(worker); }); };
    if (pieces <= 1 || pool_.workers() == 1) return job(0);
    pool_.run(job);
  }

  void make_state() {
    frame_.shared = shared_.make();
    for (unsigned worker = 0; worker < pool_.workers(); ++worker) {
      locals_.push_back(std::make_unique<StateBlock>(query_, program_.local, frame_));
      frame_.locals.push_back(locals_.back()->make());
    }
    std::byte** locals = frame_.locals.data();
    std::uint64_t workers = frame_.locals.size();
    std::memcpy(frame_.shared + kSharedLocalsOffset, &locals, sizeof(locals));
    std::memcpy(frame_.shared + kSharedWorkersOffset, &workers, sizeof(workers));
    for (const ColumnBinding& binding : program_.columns) {
      const Column& column = query_.database().find(binding.table->name)->columns[binding.column];
      const void* pointers[3] = {column.values, column.heap, column.nulls};
      std::memcpy(frame_.shared + binding.offset, pointers, sizeof(pointers));
    }
  }

  // Generated code finds the slot of the thread that runs it in the local block.
  void place_slot(unsigned worker) {
    std::byte* local = frame_.locals[worker];
    std::uint64_t* slot = tailor_thread_slot();
    if (slot == nullptr) slot = reinterpret_cast<std::uint64_t*>(local + kLocalNoSlotOffset);
    std::memcpy(local + kLocalSlotOffset, &slot, sizeof(slot));
  }

  bool stopped() {
    if (stop_.load(std::memory_order_relaxed)) return true;
    if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed)) fail("cancelled");
    return false;
  }

  void run_pipeline(const PipelineProgram& pipeline) {
    std::uint64_t tuples = pipeline.tuples(frame_);
    std::uint64_t morsels = (tuples + pipeline.morsel - 1) / pipeline.morsel;
    std::atomic<std::uint64_t> next{0};
    on_workers(pipeline.sequential ? 1 : morsels, [&](unsigned worker) {
      WorkScope scheduling(EngineWork::kSchedule);  // but for the morsels
      place_slot(worker);
      tailor_mark_pipeline_begin(pipeline.id);
      std::uint64_t morsel;
      while (!stopped() && (morsel = next.fetch_add(1, std::memory_order_relaxed)) < morsels) {
        std::uint64_t begin = morsel * pipeline.morsel;
        std::uint64_t end = std::min(begin + pipeline.morsel, tuples);
        // Looked up anew: better code may have become ready.
        auto* function = query_.code().function<PipelineFunction>(pipeline.function);
        tailor_mark_morsel_begin(pipeline.id, begin, end - begin);
        function(frame_.shared, frame_.locals[worker], begin, end);
        tailor_mark_morsel_end(pipeline.id);
      }
      tailor_mark_pipeline_end(pipeline.id);
    });
    for (const FinishStep& step : pipeline.finish) {
      if (failure_) return;
      run_finish_step(step);
    }
  }

  void run_finish_step(const FinishStep& step) {
    std::uint64_t tag = query_.tag(step.operator_id, step.task);
    std::size_t pieces = 0;
    on_worker(0, [&] { under_tag(step, tag, 0, [&] { pieces = step.open(frame_); }); });
    if (step.run && pieces > 0 && !failure_) {
      std::atomic<std::size_t> next{0};
      on_workers(pieces, [&](unsigned worker) {
        under_tag(step, tag, worker, [&] {
          for (std::size_t piece; !stopped() && (piece = next.fetch_add(1)) < pieces;)
            step.run(frame_, piece);
        });
      });
    }
    if (step.close && !failure_) on_worker(0, [&] { under_tag(step, tag, 0, [&] { step.close(frame_); }); });
  }

  // Runtime code called by the scheduler on behalf of a task.
  template <typename Work>
  void under_tag(const FinishStep& step, std::uint64_t tag, unsigned worker, const Work& work) {
    std::uint64_t begin = program_.instrumented ? __rdtsc() : 0;
    {
      TagScope scope(query_.tag_strategy(), tag);
      work();
    }
    if (program_.instrumented) cycles(worker)[step.task] += __rdtsc() - begin;
  }

  std::uint64_t* cycles(unsigned worker) {
    return reinterpret_cast<std::uint64_t*>(frame_.locals[worker] + program_.cycles_offset);
  }

  std::vector<std::uint64_t> operator_cycles() {
    std::vector<std::uint64_t> sums(query_.plan().operator_count + 1, 0);
    for (unsigned worker = 0; worker < frame_.locals.size(); ++worker) {
      for (ComponentId task = 1; task <= program_.task_count; ++task) {
        // Sections shorter than a reading of the counter may come out below zero.
        auto signed_cycles = static_cast<std::int64_t>(cycles(worker)[task]);
        if (signed_cycles > 0) sums[query_.operator_of(task)] += static_cast<std::uint64_t>(signed_cycles);
      }
    }
    return sums;
  }

  // The output hands its rows to the client and to no operator.
  std::vector<std::uint64_t> operator_rows(std::uint64_t result_rows) {
    std::vector<std::uint64_t> rows(query_.plan().operator_count + 1, 0);
    for (std::byte* local : frame_.locals) {
      auto* counted = reinterpret_cast<const std::uint64_t*>(local + program_.rows_offset);
      for (std::size_t id = 1; id < rows.size(); ++id) rows[id] += counted[id];
    }
    rows[query_.plan().root->id] = result_rows;
    return rows;
  }

  void read_result(ResultSet& result) {
    result.names = query_.plan().root->names;
    for (TupleBuffer* buffer : frame_.local_objects<TupleBuffer>(program_.result_offset))
      result.rows += buffer->rows();
    // The client's from the end of the execution on; until then they count.
    account_.charge(result.rows * program_.result_fields.size() * sizeof(Value));
    result.values.reserve(result.rows * program_.result_fields.size());
    for (TupleBuffer* buffer : frame_.local_objects<TupleBuffer>(program_.result_offset)) {
      buffer->for_each_chunk([&](std::byte* begin, std::byte* end) {
        for (std::byte* row = begin; row != end; row += buffer->row_bytes()) {
          for (const RowField& field : program_.result_fields)
            result.values.push_back(read_field(row, field));
        }
      });
    }
  }

  static Value read_field(const std::byte* row, const RowField& field) {
    const Type& type = field.iu->type;
    if (field.null_offset != 0 && row[field.null_offset] != std::byte{0}) return Value::null_of(type);
    const std::byte* at = row + field.offset;
    switch (field.iu->width()) {
      case Width::k1:
      case Width::k8:
        return Value::of(type, static_cast<std::uint8_t>(*at));
      case Width::k32:
        return Value::of(type, load<std::int32_t>(at));
      case Width::k64:
        return Value::of(type, load<std::int64_t>(at));
      case Width::k128:
        return Value::of(type, load<Int128>(at));
      case Width::kString:
        break;
    }
    return Value::string(std::string(load<const char*>(at), load<std::uint64_t>(at + 8)));
  }

  template <typename T>
  static T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
  }

  const CompiledQuery& query_;
  const Program& program_;
  WorkerPool& pool_;
  const ExecuteOptions& options_;
  MemoryAccount account_;
  Frame frame_;
  StateBlock shared_;
  std::vector<std::unique_ptr<StateBlock>> locals_;
  std::vector<std::int64_t> cpu_ns_;
  std::uint64_t handle_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::optional<Error> failure_;
};

std::uint64_t begin_execution(const CompiledQuery& query, const ExecuteOptions& options) {
  std::vector<tailor_label> labels{{"query", query.sql().c_str()}};
  for (const auto& [key, value] : options.labels) labels.push_back({key.c_str(), value.c_str()});
  return tailor_execution_begin(query.ids().id, labels.data(), labels.size());
}

}  // namespace

Result<ExecutionOutcome> execute(const CompiledQuery& query, WorkerPool& pool,
                                 const ExecuteOptions& options) {
  const std::uint64_t handle = begin_execution(query, options);
  const bool tags_off = handle != 0 && tailor_execution_tag_strategy(handle) == TAILOR_TAGS_NONE;
  if (!tags_off) return Execution(query, pool, options, handle).run();
  const auto untagged = query.without_tags();
  if (untagged.ok()) return Execution(**untagged, pool, options, handle).run();
  tailor_execution_end(handle, 0, untagged.error().message.c_str());
  return untagged.error();
}

}  // namespace tailor::weft
