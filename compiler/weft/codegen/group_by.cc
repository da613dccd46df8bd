// Hash aggregation: thread-local groups, then a merge per partition whose groups the pipeline above consumes.
#include <tailor/agent.h>

#include "compiler/weft/codegen/access_code.h"
#include "compiler/weft/codegen/aggregate_code.h"
#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/translator.h"
#include "compiler/weft/runtime/group_table.h"

namespace tailor::weft {
namespace {

constexpr const char* kGroupRows = "groups";
constexpr const char* kGroupDirectory = "group directory";

class GroupByTranslator final : public Translator {
 public:
  GroupByTranslator(Compilation& c, const Operator& grouping, Translator* consumer, std::uint32_t place)
      : Translator(c, grouping, consumer, place),
        layout_(keys_layout(as<GroupBy>(grouping))),
        state_(as<GroupBy>(grouping).aggregates, false, layout_) {}

  void produce() override {
    scan_ = c_.add_task("Scan groups", "group_scan");
    merge_ = c_.add_task("Merge groups", "group_merge");
    aggregate_ = c_.add_task("Aggregate", "group_aggregate");
    reserve_state();
    c_.begin_pipeline("group by");
    c_.produce(input(0));
    FinishStep collect = c_.finish(op().id, merge_);
    collect.open = [shared = tables_, local = groups_](Frame& frame) -> std::size_t {
      frame.shared_object<GroupTables>(shared).locals = frame.local_objects<LocalGroups>(local);
      return 0;
    };
    c_.end_pipeline({collect});
    auto partitions = [](const Frame&) { return std::uint64_t{kGroupPartitions}; };
    c_.generate_source(merge_, partitions, 1, false, [&](llvm::Value* begin, llvm::Value* end) {
      emit_for(c_, begin, end, [&](llvm::Value* partition) { emit_partition(partition); });
      tell_merge();
    });
  }

  void consume(std::uint32_t) override {
    jit::TrackedBuilder& ir = c_.ir();
    std::vector<HashedKey> hashed;
    for (const Iu* key : keys()) hashed.push_back({c_.values().get(key), key->width()});
    llvm::Value* hash = emit_hash(c_, hashed);
    llvm::Value* groups = c_.local_pointer(groups_);
    llvm::Value* directory =
        ir.CreateLoad(ir.getPtrTy(), field_pointer(c_, groups, LocalGroups::kDirectoryOffset));
    llvm::Value* number = ir.CreateLShr(hash, 64 - LocalGroups::kSlotBits);
    llvm::Value* first = ir.CreateLoad(ir.getPtrTy(), ir.CreateInBoundsGEP(ir.getPtrTy(), directory, number));
    llvm::Value* found = emit_find(first, hash, hashed);
    llvm::Value* group = emit_choice(
                             c_, ir.CreateIsNotNull(found), [&] { return SqlValue{found}; },
                             [&] {
                               llvm::Value* row = c_.call("weft_rt_group_add", ir.getPtrTy(), {groups, hash});
                               for (std::size_t i = 0; i < hashed.size(); ++i)
                                 store_field(c_, row, *layout_.find(keys()[i]), hashed[i].value);
                               return SqlValue{row};
                             })
                             .data;
    state_.emit_update(c_, group);
    tell_aggregate();
  }

  ComponentId task_of(std::uint32_t) const override { return aggregate_; }

 private:
  const std::vector<const Iu*>& keys() const { return as<GroupBy>(op()).keys; }

  static RowLayout keys_layout(const GroupBy& group_by) {
    RowLayout layout(kHashRowBytes);
    for (const Iu* key : group_by.keys) layout.add(key);
    return layout;
  }

  void reserve_state() {
    std::uint32_t bytes = layout_.size();
    RegionKind rows = c_.region(kGroupRows, TAILOR_REGION_HASH_TABLE, op().id, bytes);
    RegionKind directory = c_.region(kGroupDirectory, TAILOR_REGION_DIRECTORY, op().id, sizeof(void*));
    tables_ = c_.shared().add_object<GroupTables>([](std::byte* place, Frame&) { new (place) GroupTables; });
    groups_ = c_.local().add_object<LocalGroups>([=](std::byte* place, Frame& frame) {
      new (place) LocalGroups(*frame.account, rows, directory, bytes);
    });
    cursor_ = c_.local().add_object<GroupCursor>(
        [=](std::byte* place, Frame& frame) { new (place) GroupCursor(*frame.account, directory); });
  }

  // Each group is written when it is new. How often it is found again in the cache, and how many rows a group
  // has in the end, depends on the order of the rows and on the workers. So does the merge.
  void tell_aggregate() {
    v1::Access groups =
        sequential_access(kGroupRows, op().id, layout_.size(),
                          arrives_at_one_place(*op().inputs[0]) ? rows_of(op()) : v1::Count());
    groups.set_pattern(v1::ACCESS_PARTITIONED);
    groups.set_cursors(kGroupPartitions);
    groups.set_writes(true);
    groups.set_at_least(true);
    c_.add_access(aggregate_, std::move(groups));
    tell_directory(aggregate_);
  }

  void tell_merge() {
    // With or without a merge, each group is read once at least: its first word says whether it was merged.
    v1::Access groups = sequential_access(kGroupRows, op().id, layout_.size(), rows_of(op()));
    groups.set_used_bytes(sizeof(void*));
    groups.set_reads(true);
    groups.set_at_least(true);
    c_.add_access(merge_, std::move(groups));
    tell_directory(merge_);
  }

  // Few groups use few slots, and many groups all: nobody knows before.
  void tell_directory(ComponentId task) {
    v1::Access slots = unknown_access(kGroupDirectory, op().id, sizeof(void*));
    slots.set_reads(true);
    slots.set_writes(true);
    c_.add_access(task, std::move(slots));
  }

  // The first row of the chain with that hash and these keys, or null.
  llvm::Value* emit_find(llvm::Value* first, llvm::Value* hash, const std::vector<HashedKey>& keys) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::AllocaInst* at = c_.module().create_entry_alloca(ir.getPtrTy(), "group");
    llvm::AllocaInst* searching = c_.module().create_entry_alloca(ir.getInt1Ty(), "searching");
    ir.CreateStore(first, at);
    ir.CreateStore(ir.CreateIsNotNull(first), searching);
    emit_while(
        c_, [&] { return ir.CreateLoad(ir.getInt1Ty(), searching); },
        [&] {
          llvm::Value* row = ir.CreateLoad(ir.getPtrTy(), at);
          llvm::Value* same_hash =
              ir.CreateICmpEQ(ir.CreateLoad(ir.getInt64Ty(), field_pointer(c_, row, 8)), hash);
          llvm::Value* equal = emit_choice(
                                   c_, same_hash, [&] { return SqlValue{emit_keys_equal(row, keys)}; },
                                   [&] { return SqlValue{ir.getFalse()}; })
                                   .data;
          llvm::Value* next = ir.CreateSelect(equal, row, ir.CreateLoad(ir.getPtrTy(), row));
          ir.CreateStore(next, at);
          ir.CreateStore(ir.CreateAnd(ir.CreateNot(equal), ir.CreateIsNotNull(next)), searching);
        });
    return ir.CreateLoad(ir.getPtrTy(), at);
  }

  llvm::Value* emit_keys_equal(llvm::Value* row, const std::vector<HashedKey>& hashed) {
    llvm::Value* equal = c_.ir().getTrue();
    for (std::size_t i = 0; i < hashed.size(); ++i) {
      SqlValue stored = load_field(c_, row, *layout_.find(keys()[i]));
      equal = c_.ir().CreateAnd(
          equal, emit_key_equal(c_, stored, keys()[i]->width(), hashed[i].value, hashed[i].width, true));
    }
    return equal;
  }

  void emit_partition(llvm::Value* partition) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::Value* cursor = c_.local_pointer(cursor_);
    llvm::Value* must_merge =
        c_.call("weft_rt_group_open", ir.getInt1Ty(), {c_.shared_pointer(tables_), cursor, partition});
    emit_if(c_, must_merge, [&] {
      for_each_row(cursor, [&](llvm::Value* row) { emit_merge_row(cursor, row); });
      c_.call("weft_rt_group_rewind", ir.getVoidTy(), {cursor});
    });
    c_.run_task(scan_, [&] {
      for_each_row(cursor, [&](llvm::Value* row) {
        llvm::Value* mark = ir.CreateLoad(ir.getInt64Ty(), row);
        llvm::Value* is_group = ir.CreateICmpNE(mark, ir.getInt64(GroupCursor::kMerged));
        emit_if(c_, is_group, [&] {
          bind_row(c_, scan_, layout_, row);
          state_.bind_results(c_, scan_, row);
          c_.consume(*this);
        });
      });
    });
  }

  void for_each_row(llvm::Value* cursor, const std::function<void(llvm::Value*)>& body) {
    jit::TrackedBuilder& ir = c_.ir();
    emit_while(
        c_, [&] { return c_.call("weft_rt_group_next", ir.getInt1Ty(), {cursor}); },
        [&] {
          llvm::Value* begin =
              ir.CreateLoad(ir.getPtrTy(), field_pointer(c_, cursor, GroupCursor::kBeginOffset));
          llvm::Value* end = ir.CreateLoad(ir.getPtrTy(), field_pointer(c_, cursor, GroupCursor::kEndOffset));
          emit_for_rows(c_, begin, end, layout_.size(), body);
        });
  }

  void emit_merge_row(llvm::Value* cursor, llvm::Value* row) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::Value* directory =
        ir.CreateLoad(ir.getPtrTy(), field_pointer(c_, cursor, GroupCursor::kDirectoryOffset));
    llvm::Value* shift = ir.CreateLoad(ir.getInt64Ty(), field_pointer(c_, cursor, GroupCursor::kShiftOffset));
    llvm::Value* hash = ir.CreateLoad(ir.getInt64Ty(), field_pointer(c_, row, 8));
    llvm::Value* slot = ir.CreateInBoundsGEP(ir.getPtrTy(), directory, ir.CreateLShr(hash, shift));
    std::vector<HashedKey> hashed;
    for (const Iu* key : keys()) hashed.push_back({load_field(c_, row, *layout_.find(key)), key->width()});
    llvm::Value* first = ir.CreateLoad(ir.getPtrTy(), slot);
    llvm::Value* found = emit_find(first, hash, hashed);
    llvm::Value* is_new = ir.CreateIsNull(found);
    emit_if(c_, is_new, [&] {
      ir.CreateStore(first, row);
      ir.CreateStore(row, slot);
    });
    emit_if(c_, ir.CreateNot(is_new), [&] {
      state_.emit_merge(c_, found, row);
      ir.CreateStore(ir.getInt64(GroupCursor::kMerged), row);
    });
  }

  RowLayout layout_;
  AggregateState state_;
  ComponentId scan_ = 0;
  ComponentId merge_ = 0;
  ComponentId aggregate_ = 0;
  std::size_t tables_ = 0;
  std::size_t groups_ = 0;
  std::size_t cursor_ = 0;
};

}  // namespace

std::unique_ptr<Translator> make_group_by(Compilation& c, const Operator& op, Translator* parent,
                                          std::uint32_t input) {
  return std::make_unique<GroupByTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
