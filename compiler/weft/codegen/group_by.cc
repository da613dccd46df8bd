// Hash aggregation: thread-local groups, then a merge per partition whose groups the pipeline above consumes.
#include <tailor/agent.h>

#include "compiler/weft/codegen/aggregate_code.h"
#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/translator.h"
#include "compiler/weft/runtime/group_table.h"

namespace tailor::weft {
namespace {

class GroupByTranslator final : public Translator {
 public:
  GroupByTranslator(Compilation& c, const Operator& grouping, Translator* consumer, std::uint32_t place)
      : Translator(c, grouping, consumer, place),
        layout_(KeysLayout(as<GroupBy>(grouping))),
        state_(as<GroupBy>(grouping).aggregates, false, layout_) {}

  void Produce() override {
    scan_ = c_.AddTask("Scan groups", "group_scan");
    merge_ = c_.AddTask("Merge groups", "group_merge");
    aggregate_ = c_.AddTask("Aggregate", "group_aggregate");
    ReserveState();
    c_.BeginPipeline("group by");
    c_.Produce(input(0));
    FinishStep collect = c_.Finish(op().id, merge_);
    collect.open = [shared = tables_, local = groups_](Frame& frame) -> std::size_t {
      frame.SharedObject<GroupTables>(shared).locals = frame.LocalObjects<LocalGroups>(local);
      return 0;
    };
    c_.EndPipeline({collect});
    auto partitions = [](const Frame&) { return std::uint64_t{kGroupPartitions}; };
    c_.GenerateSource(merge_, partitions, 1, false, [&](llvm::Value* begin, llvm::Value* end) {
      EmitFor(c_, begin, end, [&](llvm::Value* partition) { EmitPartition(partition); });
    });
  }

  void Consume(std::uint32_t) override {
    jit::TrackedBuilder& ir = c_.ir();
    std::vector<HashedKey> keys;
    for (const Iu* key : Keys()) keys.push_back({c_.values().Get(key), key->width()});
    llvm::Value* hash = EmitHash(c_, keys);
    llvm::Value* groups = c_.LocalPointer(groups_);
    llvm::Value* directory =
        ir.CreateLoad(ir.getPtrTy(), FieldPointer(c_, groups, LocalGroups::kDirectoryOffset));
    llvm::Value* number = ir.CreateLShr(hash, 64 - LocalGroups::kSlotBits);
    llvm::Value* first = ir.CreateLoad(ir.getPtrTy(), ir.CreateInBoundsGEP(ir.getPtrTy(), directory, number));
    llvm::Value* found = EmitFind(first, hash, keys);
    llvm::Value* group = EmitChoice(
                             c_, ir.CreateIsNotNull(found), [&] { return SqlValue{found}; },
                             [&] {
                               llvm::Value* row = c_.Call("weft_rt_group_add", ir.getPtrTy(), {groups, hash});
                               for (std::size_t i = 0; i < keys.size(); ++i)
                                 StoreField(c_, row, *layout_.Find(Keys()[i]), keys[i].value);
                               return SqlValue{row};
                             })
                             .data;
    state_.EmitUpdate(c_, group);
  }

  ComponentId TaskOf(std::uint32_t) const override { return aggregate_; }

 private:
  const std::vector<const Iu*>& Keys() const { return as<GroupBy>(op()).keys; }

  static RowLayout KeysLayout(const GroupBy& group_by) {
    RowLayout layout(kHashRowBytes);
    for (const Iu* key : group_by.keys) layout.Add(key);
    return layout;
  }

  void ReserveState() {
    std::uint32_t bytes = layout_.size();
    RegionKind rows = c_.Region("groups", TAILOR_REGION_HASH_TABLE, op().id, bytes);
    RegionKind directory = c_.Region("group directory", TAILOR_REGION_DIRECTORY, op().id, sizeof(void*));
    tables_ = c_.shared().AddObject<GroupTables>([](std::byte* place, Frame&) { new (place) GroupTables; });
    groups_ = c_.local().AddObject<LocalGroups>([=](std::byte* place, Frame& frame) {
      new (place) LocalGroups(*frame.account, rows, directory, bytes);
    });
    cursor_ = c_.local().AddObject<GroupCursor>(
        [=](std::byte* place, Frame& frame) { new (place) GroupCursor(*frame.account, directory); });
  }

  // The first row of the chain with that hash and these keys, or null.
  llvm::Value* EmitFind(llvm::Value* first, llvm::Value* hash, const std::vector<HashedKey>& keys) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::AllocaInst* at = c_.module().CreateEntryAlloca(ir.getPtrTy(), "group");
    llvm::AllocaInst* searching = c_.module().CreateEntryAlloca(ir.getInt1Ty(), "searching");
    ir.CreateStore(first, at);
    ir.CreateStore(ir.CreateIsNotNull(first), searching);
    EmitWhile(
        c_, [&] { return ir.CreateLoad(ir.getInt1Ty(), searching); },
        [&] {
          llvm::Value* row = ir.CreateLoad(ir.getPtrTy(), at);
          llvm::Value* same_hash =
              ir.CreateICmpEQ(ir.CreateLoad(ir.getInt64Ty(), FieldPointer(c_, row, 8)), hash);
          llvm::Value* equal = EmitChoice(
                                   c_, same_hash, [&] { return SqlValue{EmitKeysEqual(row, keys)}; },
                                   [&] { return SqlValue{ir.getFalse()}; })
                                   .data;
          llvm::Value* next = ir.CreateSelect(equal, row, ir.CreateLoad(ir.getPtrTy(), row));
          ir.CreateStore(next, at);
          ir.CreateStore(ir.CreateAnd(ir.CreateNot(equal), ir.CreateIsNotNull(next)), searching);
        });
    return ir.CreateLoad(ir.getPtrTy(), at);
  }

  llvm::Value* EmitKeysEqual(llvm::Value* row, const std::vector<HashedKey>& keys) {
    llvm::Value* equal = c_.ir().getTrue();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      SqlValue stored = LoadField(c_, row, *layout_.Find(Keys()[i]));
      equal = c_.ir().CreateAnd(
          equal, EmitKeyEqual(c_, stored, Keys()[i]->width(), keys[i].value, keys[i].width, true));
    }
    return equal;
  }

  void EmitPartition(llvm::Value* partition) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::Value* cursor = c_.LocalPointer(cursor_);
    llvm::Value* must_merge =
        c_.Call("weft_rt_group_open", ir.getInt1Ty(), {c_.SharedPointer(tables_), cursor, partition});
    EmitIf(c_, must_merge, [&] {
      ForEachRow(cursor, [&](llvm::Value* row) { EmitMergeRow(cursor, row); });
      c_.Call("weft_rt_group_rewind", ir.getVoidTy(), {cursor});
    });
    c_.RunTask(scan_, [&] {
      ForEachRow(cursor, [&](llvm::Value* row) {
        llvm::Value* mark = ir.CreateLoad(ir.getInt64Ty(), row);
        llvm::Value* is_group = ir.CreateICmpNE(mark, ir.getInt64(GroupCursor::kMerged));
        EmitIf(c_, is_group, [&] {
          BindRow(c_, scan_, layout_, row);
          state_.BindResults(c_, scan_, row);
          c_.Consume(*this);
        });
      });
    });
  }

  void ForEachRow(llvm::Value* cursor, const std::function<void(llvm::Value*)>& body) {
    jit::TrackedBuilder& ir = c_.ir();
    EmitWhile(
        c_, [&] { return c_.Call("weft_rt_group_next", ir.getInt1Ty(), {cursor}); },
        [&] {
          llvm::Value* begin =
              ir.CreateLoad(ir.getPtrTy(), FieldPointer(c_, cursor, GroupCursor::kBeginOffset));
          llvm::Value* end = ir.CreateLoad(ir.getPtrTy(), FieldPointer(c_, cursor, GroupCursor::kEndOffset));
          EmitForRows(c_, begin, end, layout_.size(), body);
        });
  }

  void EmitMergeRow(llvm::Value* cursor, llvm::Value* row) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::Value* directory =
        ir.CreateLoad(ir.getPtrTy(), FieldPointer(c_, cursor, GroupCursor::kDirectoryOffset));
    llvm::Value* shift = ir.CreateLoad(ir.getInt64Ty(), FieldPointer(c_, cursor, GroupCursor::kShiftOffset));
    llvm::Value* hash = ir.CreateLoad(ir.getInt64Ty(), FieldPointer(c_, row, 8));
    llvm::Value* slot = ir.CreateInBoundsGEP(ir.getPtrTy(), directory, ir.CreateLShr(hash, shift));
    std::vector<HashedKey> keys;
    for (const Iu* key : Keys()) keys.push_back({LoadField(c_, row, *layout_.Find(key)), key->width()});
    llvm::Value* first = ir.CreateLoad(ir.getPtrTy(), slot);
    llvm::Value* found = EmitFind(first, hash, keys);
    llvm::Value* is_new = ir.CreateIsNull(found);
    EmitIf(c_, is_new, [&] {
      ir.CreateStore(first, row);
      ir.CreateStore(row, slot);
    });
    EmitIf(c_, ir.CreateNot(is_new), [&] {
      state_.EmitMerge(c_, found, row);
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

std::unique_ptr<Translator> MakeGroupBy(Compilation& c, const Operator& op, Translator* parent,
                                        std::uint32_t input) {
  return std::make_unique<GroupByTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
