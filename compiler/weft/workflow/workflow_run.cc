#include "compiler/weft/workflow/workflow_run.h"

#include <fmt/format.h>
#include <tailor/tag_scope.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <new>

#include "compiler/weft/codegen/program.h"
#include "compiler/weft/exec/components.h"
#include "compiler/weft/runtime/memory.h"
#include "compiler/weft/runtime/query_error.h"
#include "compiler/weft/workflow/join_index.h"
#include "compiler/weft/workflow/tuples.h"
#include "proto/base/errors.h"

namespace tailor::weft::workflow {
namespace {

// Tuples that a worker takes at once.
constexpr std::uint64_t kMorsel = 16'384;

std::int64_t clock_ns(clockid_t clock) {
  timespec time;
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Fills memory with one value, `count` times.
void fill_values(std::byte* memory, Scalar scalar, std::uint64_t count, double value) {
  const auto fill = [&](auto typed) {
    for (std::uint64_t i = 0; i < count; ++i) std::memcpy(memory + i * sizeof(typed), &typed, sizeof(typed));
  };
  switch (scalar) {
    case Scalar::kF64:
      return fill(value);
    case Scalar::kF32:
      return fill(static_cast<float>(value));
    case Scalar::kI64:
      return fill(static_cast<std::int64_t>(value));
    case Scalar::kI32:
      return fill(static_cast<std::int32_t>(value));
  }
}

// Memory of an account for as long as it lives.
class AccountedBlock {
 public:
  AccountedBlock(MemoryAccount& account, std::size_t bytes, RegionKind kind)
      : account_(account),
        bytes_(bytes),
        memory_(static_cast<std::byte*>(account.allocate_zeroed(bytes, kind))) {}
  ~AccountedBlock() { account_.free(memory_, bytes_); }
  AccountedBlock(const AccountedBlock&) = delete;
  AccountedBlock& operator=(const AccountedBlock&) = delete;
  std::byte* memory() const { return memory_; }

 private:
  MemoryAccount& account_;
  std::size_t bytes_;
  std::byte* memory_;
};

class WorkflowRun {
 public:
  // `handle`: as tailor_execution_begin() gave it.
  WorkflowRun(const CompiledWorkflow& compiled, const WorkflowFiles& files, WorkerPool& pool,
              const RunOptions& options, std::uint64_t handle)
      : compiled_(compiled),
        workflow_(compiled.workflow()),
        program_(compiled.program()),
        files_(files),
        pool_(pool),
        options_(options),
        account_(options.memory_limit),
        cpu_ns_(pool.workers(), 0),
        handle_(handle) {}

  Result<RunOutcome> run() {
    tailor_execution_id(handle_, outcome_.id.data());
    const std::int64_t begin = clock_ns(CLOCK_MONOTONIC);
    // The calling thread is worker 0 of every step. It stays in the execution, so its iterations are whole.
    tailor_mark_execution_begin(handle_, compiled_.ids().id);
    on_worker(0, [&] { make_memory(); });
    run_steps(program_.steps);
    if (!failure_) {
      on_worker(0, [&] {
        const WorkScope work(EngineWork::kOutput);
        for (std::uint32_t each : workflow_.shown) outcome_.shown.push_back(values_of(each));
      });
    }
    outcome_.peak_memory = account_.peak();
    on_worker(0, [&] {
      const WorkScope work(EngineWork::kMemory);
      copies_.clear();
      indexes_.clear();
      locals_.clear();
      contexts_.clear();
      tuples_.clear();
      shared_.reset();
    });
    outcome_.wall_ns = clock_ns(CLOCK_MONOTONIC) - begin;
    outcome_.cpu_ns = cpu_now();
    tailor_mark_execution_end(handle_);
    tailor_execution_end(handle_, UINT64_MAX, failure_ ? failure_->message.c_str() : nullptr);
    if (failure_) return *std::move(failure_);
    return std::move(outcome_);
  }

 private:
  // ---- memory

  RegionKind region(const std::string& name, std::uint32_t role, ComponentId owner,
                    std::uint64_t element_bytes) {
    tailor_region_kind kind{sizeof(kind),
                            name.c_str(),
                            role,
                            compiled_.ids().id,
                            0,
                            owner,
                            static_cast<std::uint32_t>(element_bytes)};
    return tailor_region_kind_declare(&kind);
  }

  void make_memory() {
    const WorkScope work(EngineWork::kMemory);
    shared_.emplace(account_, program_.shared_bytes,
                    region("shared state", TAILOR_REGION_OTHER, kNoComponent, 0));
    std::mutex* mutex = &synchronous_;
    std::memcpy(shared_->memory() + kMutexOffset, &mutex, sizeof(std::mutex*));
    for (std::size_t i = 0; i < workflow_.inputs.size(); ++i) {
      if (!make_tuples(i)) return;
    }
    const RegionKind local = region("worker state", TAILOR_REGION_OTHER, kNoComponent, 0);
    for (unsigned worker = 0; worker < pool_.workers(); ++worker)
      locals_.push_back(std::make_unique<AccountedBlock>(account_, program_.local_bytes, local));
    for (std::uint32_t i = 0; i < workflow_.contexts.size(); ++i) {
      const Context& context = workflow_.contexts[i];
      contexts_.push_back(new_context(i, context.name));
      fill_values(contexts_.back()->memory(), context.scalar, context.values(), context.initial);
      for (unsigned worker = 0; worker < pool_.workers(); ++worker)
        show_context(worker, i, contexts_.back()->memory());
    }
    copies_.resize(workflow_.contexts.size());
    indexes_.resize(program_.indexes.size());
  }

  bool make_tuples(std::size_t index) {
    const Input& input = workflow_.inputs[index];
    std::vector<RegionKind> regions;
    for (const Field& field : input.fields) {
      regions.push_back(region(input.name + "." + field.name, TAILOR_REGION_COLUMN,
                               program_.input_operators[index], scalar_bytes(field.scalar)));
    }
    if (input.generator) {
      tuples_.push_back(std::make_unique<Tuples>(Tuples::allocate(input, input.rows, regions, account_)));
    } else {
      const WorkScope loading(EngineWork::kLoad);
      auto bytes = files_.read(input.path, std::min<std::uint64_t>(kMostTupleBytes, options_.memory_limit));
      auto read = bytes.ok() ? read_tuples(input, *bytes, regions, account_) : Result<Tuples>(bytes.error());
      if (!read.ok()) {
        stop_with(in_context(fmt::format("{}:{}:{}: ", workflow_.file, input.place.line, input.place.column),
                             read.error()));
        return false;
      }
      tuples_.push_back(std::make_unique<Tuples>(std::move(*read)));
    }
    for (std::size_t i = 0; i < input.fields.size(); ++i) {
      const std::byte* column = tuples_.back()->column(i);
      std::memcpy(shared_->memory() + program_.column_offsets[index][i], &column, sizeof(column));
    }
    return true;
  }

  std::unique_ptr<AccountedBlock> new_context(std::uint32_t index, const std::string& name) {
    const Context& context = workflow_.contexts[index];
    return std::make_unique<AccountedBlock>(
        account_, context.bytes(),
        region(name, TAILOR_REGION_OTHER, program_.context_operators[index], scalar_bytes(context.scalar)));
  }

  // What this worker's generated code takes for the context.
  void show_context(unsigned worker, std::uint32_t index, std::byte* memory) {
    std::memcpy(locals_[worker]->memory() + kContextsOffset + 8 * std::size_t{index}, &memory,
                sizeof(memory));
  }

  ContextValues values_of(std::uint32_t index) const {
    const Context& context = workflow_.contexts[index];
    const std::byte* memory = contexts_[index]->memory();
    return {context.name, context.scalar, context.shape, {memory, memory + context.bytes()}};
  }

  // ---- workers

  void stop_with(Error error) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(error);
    stop_.store(true, std::memory_order_relaxed);
  }

  // Does work for this run on the calling worker, and accounts for its time and errors.
  template <typename Work>
  void on_worker(unsigned worker, const Work& work) {
    const std::int64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (worker != 0) {
      tailor_mark_execution_begin(handle_, compiled_.ids().id);
      // These marks end with the thread's part of the execution.
      for (const auto& [component, number] : iterations_) tailor_mark_iteration(component, number);
    }
    try {
      const TagScope none(compiled_.tag_strategy(), TAILOR_TAG_NONE);
      work();
    } catch (const QueryError& error) {
      stop_with(invalid(fmt::format("{}: {}", workflow_.file, error.message)));
    } catch (const std::bad_alloc&) {
      stop_with(exhausted("the system has no memory left"));
    }
    if (worker != 0) tailor_mark_execution_end(handle_);
    cpu_ns_[worker] += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
  }

  template <typename Work>
  void on_workers(std::uint64_t pieces, const Work& work) {
    const auto job = [&](unsigned worker) { on_worker(worker, [&] { work(worker); }); };
    if (pieces <= 1 || pool_.workers() == 1) return job(0);
    pool_.run(job);
  }

  bool stopped() {
    if (stop_.load(std::memory_order_relaxed)) return true;
    if (options_.cancel == nullptr || !options_.cancel->load(std::memory_order_relaxed)) return false;
    stop_with(unavailable("cancelled"));
    return true;
  }

  std::int64_t cpu_now() const {
    std::int64_t sum = 0;
    for (std::int64_t each : cpu_ns_) sum += each;
    return sum;
  }

  // Generated code finds the slot of the thread that runs it in the local block.
  void place_slot(unsigned worker) {
    std::byte* local = locals_[worker]->memory();
    std::uint64_t* slot = tailor_thread_slot();
    if (slot == nullptr) slot = reinterpret_cast<std::uint64_t*>(local + kLocalNoSlotOffset);
    std::memcpy(local + kLocalSlotOffset, &slot, sizeof(slot));
  }

  // ---- steps

  void run_steps(const std::vector<StepCode>& steps) {
    for (const StepCode& step : steps) {
      if (stopped()) return;
      switch (step.kind) {
        case StepCode::Kind::kGenerate:
        case StepCode::Kind::kPipeline:
          run_pipeline(step);
          break;
        case StepCode::Kind::kUpdate:
          run_function(step.function, step.pipeline, 1, true);
          break;
        case StepCode::Kind::kLoop:
          run_loop(step);
          break;
      }
    }
  }

  void run_function(const std::string& name, std::uint32_t pipeline, std::uint64_t tuples, bool alone) {
    auto* function = compiled_.code().function<PipelineFunction>(name);
    const std::uint64_t morsels = (tuples + kMorsel - 1) / kMorsel;
    std::atomic<std::uint64_t> next{0};
    on_workers(alone ? 1 : morsels, [&](unsigned worker) {
      const WorkScope scheduling(EngineWork::kSchedule);  // but for the morsels
      place_slot(worker);
      tailor_mark_pipeline_begin(pipeline);
      std::uint64_t morsel = 0;
      while (!stopped() && (morsel = next.fetch_add(1, std::memory_order_relaxed)) < morsels) {
        const std::uint64_t begin = morsel * kMorsel;
        const std::uint64_t end = std::min(begin + kMorsel, tuples);
        tailor_mark_morsel_begin(pipeline, begin, end - begin);
        function(shared_->memory(), locals_[worker]->memory(), begin, end);
        tailor_mark_morsel_end(pipeline);
      }
      tailor_mark_pipeline_end(pipeline);
    });
  }

  void run_pipeline(const StepCode& step) {
    for (std::uint32_t each : step.indexes) make_index(each);
    for (const CombineCode& each : step.combines) give_copies(each);
    if (!failure_) {
      run_function(step.function, step.pipeline, tuples_[step.input]->rows(), false);
      outcome_.tuples[step.pipeline] += tuples_[step.input]->rows();
    }
    for (const CombineCode& each : step.combines) combine(each);
  }

  // Once a run: the tuples of an input stay as they are made. On behalf of the join that needs it.
  void make_index(std::uint32_t number) {
    Index& index = indexes_[number];
    if (failure_ || index.links != nullptr) return;
    on_worker(0, [&] {
      const IndexCode& code = program_.indexes[number];
      const TagScope scope(compiled_.tag_strategy(), compiled_.tag(code.operator_id, code.task));
      const Input& input = workflow_.inputs[code.input];
      const Field& field = input.fields[code.field];
      const std::string name = fmt::format("index of {}.{}", input.name, field.name);
      const IndexShape shape = index_shape(tuples_[code.input]->rows());
      index.buckets = std::make_unique<AccountedBlock>(
          account_, shape.bucket_bytes(), region(name, TAILOR_REGION_DIRECTORY, code.operator_id, 8));
      index.links = std::make_unique<AccountedBlock>(
          account_, shape.link_bytes(), region(name, TAILOR_REGION_HASH_TABLE, code.operator_id, 8));
      fill_index(shape, tuples_[code.input]->column(code.field), field.scalar, index.buckets->memory(),
                 index.links->memory(), [this] { return stopped(); });
      const std::byte* arrays[] = {index.buckets->memory(), index.links->memory()};
      const std::uint64_t shift = shape.shift();
      std::memcpy(shared_->memory() + code.offset, arrays, sizeof(arrays));
      std::memcpy(shared_->memory() + code.offset + sizeof(arrays), &shift, sizeof(shift));
    });
  }

  // With one worker the context is its own copy: its values are the neutral element combined with them.
  bool has_copies() const { return pool_.workers() > 1; }

  void give_copies(const CombineCode& code) {
    if (!has_copies() || failure_) return;
    const Context& context = workflow_.contexts[code.context];
    on_worker(0, [&] {
      const TagScope scope(compiled_.tag_strategy(), compiled_.tag(code.operator_id, code.task));
      std::vector<std::unique_ptr<AccountedBlock>>& copies = copies_[code.context];
      while (copies.size() < pool_.workers())
        copies.push_back(new_context(code.context, context.name + " (copy)"));
      for (unsigned worker = 0; worker < pool_.workers(); ++worker) {
        fill_values(copies[worker]->memory(), context.scalar, context.values(), code.start);
        show_context(worker, code.context, copies[worker]->memory());
      }
    });
  }

  // In the order of the workers.
  void combine(const CombineCode& code) {
    if (!has_copies() || failure_) return;
    auto* function = compiled_.code().function<PipelineFunction>(code.function);
    std::byte* context = contexts_[code.context]->memory();
    const std::uint64_t values = workflow_.contexts[code.context].values();
    on_worker(0, [&] {
      const WorkScope scheduling(EngineWork::kSchedule);
      tailor_mark_pipeline_begin(code.pipeline);
      for (unsigned worker = 0; worker < pool_.workers(); ++worker) {
        place_slot(worker);  // of this thread, in the block that the function reads
        function(context, locals_[worker]->memory(), 0, values);
      }
      tailor_mark_pipeline_end(code.pipeline);
      for (unsigned worker = 0; worker < pool_.workers(); ++worker)
        show_context(worker, code.context, context);
    });
  }

  void run_loop(const StepCode& step) {
    iterations_.emplace_back(step.operator_id, 0);
    const std::size_t depth = iterations_.size() - 1;
    bool over = false;
    for (std::uint64_t number = 1; number <= step.count && !over && !stopped(); ++number) {
      iterations_[depth].second = number;
      tailor_mark_iteration(step.operator_id, number);
      const std::int64_t wall = clock_ns(CLOCK_MONOTONIC), cpu = cpu_now();
      run_steps(step.body);
      if (!step.function.empty() && !failure_) {
        run_function(step.function, step.pipeline, 1, true);
        std::uint64_t truth = 0;
        std::memcpy(&truth, shared_->memory() + kTruthOffset, sizeof(truth));
        over = truth != 0;
      }
      if (failure_) break;
      note_iteration(step, number, clock_ns(CLOCK_MONOTONIC) - wall, cpu_now() - cpu);
    }
    iterations_.pop_back();
  }

  void note_iteration(const StepCode& step, std::uint64_t number, std::int64_t wall_ns, std::int64_t cpu_ns) {
    if (outcome_.iterations.size() == kMostIterationsKept) {
      ++outcome_.iterations_not_kept;
      return;
    }
    IterationCost cost{step.name, number, wall_ns, cpu_ns, std::nullopt};
    if (step.watch) cost.watched = values_of(*step.watch).real(0);
    outcome_.iterations.push_back(std::move(cost));
  }

  const CompiledWorkflow& compiled_;
  const Workflow& workflow_;
  const WorkflowProgram& program_;
  const WorkflowFiles& files_;
  WorkerPool& pool_;
  const RunOptions& options_;
  MemoryAccount account_;  // before what is of it
  std::mutex synchronous_;
  std::optional<AccountedBlock> shared_;
  std::vector<std::unique_ptr<Tuples>> tuples_;
  std::vector<std::unique_ptr<AccountedBlock>> contexts_, locals_;
  std::vector<std::vector<std::unique_ptr<AccountedBlock>>> copies_;  // by context and worker
  struct Index {
    std::unique_ptr<AccountedBlock> buckets, links;
  };
  std::vector<Index> indexes_;                                     // as of the program; made when needed
  std::vector<std::pair<ComponentId, std::uint64_t>> iterations_;  // loops that run, the outermost first
  std::vector<std::int64_t> cpu_ns_;
  std::uint64_t handle_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::optional<Error> failure_;
  RunOutcome outcome_;
};

}  // namespace

double ContextValues::real(std::size_t index) const {
  const std::byte* at = bytes.data() + index * scalar_bytes(scalar);
  const auto load = [at](auto typed) {
    std::memcpy(&typed, at, sizeof(typed));
    return static_cast<double>(typed);
  };
  switch (scalar) {
    case Scalar::kF64:
      return load(double{});
    case Scalar::kF32:
      return load(float{});
    case Scalar::kI64:
      return load(std::int64_t{});
    case Scalar::kI32:
      return load(std::int32_t{});
  }
  return 0;
}

std::int64_t ContextValues::whole(std::size_t index) const {
  const std::byte* at = bytes.data() + index * scalar_bytes(scalar);
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  if (scalar == Scalar::kI64) std::memcpy(&wide, at, sizeof(wide));
  if (scalar == Scalar::kI32) std::memcpy(&narrow, at, sizeof(narrow));
  return scalar == Scalar::kI32 ? narrow : wide;
}

Result<RunOutcome> run_workflow(const CompiledWorkflow& workflow, const WorkflowFiles& files,
                                WorkerPool& pool, const RunOptions& options) {
  std::vector<tailor_label> labels{{"query", workflow.workflow().name.c_str()}};
  for (const auto& [key, value] : options.labels) labels.push_back({key.c_str(), value.c_str()});
  const std::uint64_t handle = tailor_execution_begin(workflow.ids().id, labels.data(), labels.size());
  const bool tags_off = handle != 0 && tailor_execution_tag_strategy(handle) == TAILOR_TAGS_NONE;
  if (!tags_off) return WorkflowRun(workflow, files, pool, options, handle).run();
  const auto untagged = workflow.without_tags();
  if (untagged.ok()) return WorkflowRun(**untagged, files, pool, options, handle).run();
  tailor_execution_end(handle, UINT64_MAX, untagged.error().message.c_str());
  return untagged.error();
}

}  // namespace tailor::weft::workflow
