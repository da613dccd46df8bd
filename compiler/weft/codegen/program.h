// What code generation gives to the scheduler: pipelines in the order in which they run, and the layout of
// the memory a running query needs. Holds no LLVM object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/weft/plan/operator.h"
#include "compiler/weft/runtime/memory.h"
#include "proto/base/ids.h"

namespace tailor::weft {

// The memory of one running query, as code generated for it sees it.
struct Frame {
  MemoryAccount* account = nullptr;
  std::byte* shared = nullptr;                        // laid out by Program::shared
  std::vector<std::byte*> locals;                     // by Program::local, one a worker
  std::function<void*(const std::string&)> function;  // address of a generated function

  template <typename T>
  T& shared_object(std::size_t offset) const {
    return *reinterpret_cast<T*>(shared + offset);
  }
  template <typename T>
  T& local_object(std::size_t worker, std::size_t offset) const {
    return *reinterpret_cast<T*>(locals[worker] + offset);
  }
  // Pointers to the object at `offset` of every worker.
  template <typename T>
  std::vector<T*> local_objects(std::size_t offset) const {
    std::vector<T*> objects;
    for (std::size_t i = 0; i < locals.size(); ++i) objects.push_back(&local_object<T>(i, offset));
    return objects;
  }
};

// Objects and zeroed bytes at fixed offsets of one block.
class StateLayout {
 public:
  // What the block is for the profiler.
  void set_region(RegionKind kind) { region_ = kind; }
  RegionKind region() const { return region_; }

  struct Object {
    std::size_t offset;
    ComponentId owner;  // the operator whose object it is
    std::function<void(std::byte* place, Frame& frame)> make;
    void (*destroy)(std::byte* place);
  };

  // Objects added from now on belong to this operator.
  void set_owner(ComponentId operator_id) { owner_ = operator_id; }

  std::size_t add_bytes(std::size_t bytes) {
    std::size_t offset = size_;
    size_ = (size_ + bytes + 15) / 16 * 16;
    return offset;
  }
  // `make(place, frame)` constructs a T at place.
  template <typename T, typename Make>
  std::size_t add_object(Make make) {
    std::size_t offset = add_bytes(sizeof(T));
    objects_.push_back({offset, owner_, make, [](std::byte* place) { reinterpret_cast<T*>(place)->~T(); }});
    return offset;
  }

  std::size_t size() const { return size_; }
  const std::vector<Object>& objects() const { return objects_; }

 private:
  std::size_t size_ = 0;
  ComponentId owner_ = kNoComponent;
  RegionKind region_ = 0;
  std::vector<Object> objects_;
};

// Where a column's arrays are expected in the shared block.
struct ColumnBinding {
  std::size_t offset;  // of three pointers: values, heap, nulls
  const TableInfo* table;
  std::uint32_t column;
};

// Work between two pipelines, done by the runtime on behalf of a task: `open` says into how many pieces it
// falls, `run` does one (any thread), `close` ends it. `run` and `close` may be empty.
struct FinishStep {
  ComponentId operator_id;
  ComponentId task;
  std::function<std::size_t(Frame&)> open;
  std::function<void(Frame&, std::size_t piece)> run;
  std::function<void(Frame&)> close;
};

struct PipelineProgram {
  std::uint32_t id = 0;  // in the plan dictionary
  std::string name;
  std::string function;                               // void(shared, local, begin, end)
  std::function<std::uint64_t(const Frame&)> tuples;  // or pieces: what morsels are cut from
  std::uint64_t morsel = 1;
  bool sequential = false;  // order matters: one worker, morsels in order
  std::vector<FinishStep> finish;
};
using PipelineFunction = void(std::byte* shared, std::byte* local, std::uint64_t begin, std::uint64_t end);

// A field of a materialised row.
struct RowField {
  const Iu* iu = nullptr;
  std::uint32_t offset = 0;
  std::uint32_t null_offset = 0;  // of a byte that is 1 when null; 0: never null
};

struct Program {
  StateLayout shared;
  StateLayout local;
  std::vector<ColumnBinding> columns;
  std::vector<PipelineProgram> pipelines;
  // Result rows: a TupleBuffer at this local offset, fields in the order of the output's columns.
  std::size_t result_offset = 0;
  std::vector<RowField> result_fields;
  // On whose behalf result rows are handed over to the client.
  ComponentId result_operator = kNoComponent;
  ComponentId result_task = kNoComponent;
  // Instrumented code: at this local offset, cycles per task id (index 0 unused), `task_count` + 1 words.
  bool instrumented = false;
  std::size_t cycles_offset = 0;
  std::uint32_t task_count = 0;
  // Code that counts rows: at this local offset, the rows that each operator passed on, by operator id (index
  // 0 unused).
  bool counts_rows = false;
  std::size_t rows_offset = 0;
};

// The first words of the two blocks.
inline constexpr std::size_t kSharedLocalsOffset = 0;   // std::byte**: the workers' local blocks
inline constexpr std::size_t kSharedWorkersOffset = 8;  // u64
// u64*: where the thread that works with this local block keeps its tag (TagStrategy::kMemorySlot), and a u64
// for threads without a slot.
inline constexpr std::size_t kLocalSlotOffset = 0;
inline constexpr std::size_t kLocalNoSlotOffset = 8;

}  // namespace tailor::weft
