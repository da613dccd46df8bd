#include "compiler/weft/codegen/join_code.h"

#include <tailor/agent.h>

#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/translator.h"
#include "compiler/weft/runtime/join_table.h"

namespace tailor::weft {

void JoinBuild::ReserveState() {
  std::uint32_t bytes = layout_.size();
  RegionKind rows = c_.Region("join build", TAILOR_REGION_HASH_TABLE, operator_id_, bytes);
  RegionKind directory = c_.Region("join directory", TAILOR_REGION_DIRECTORY, operator_id_, 8);
  table_ = c_.shared().AddObject<JoinTable>(
      [directory](std::byte* place, Frame& frame) { new (place) JoinTable(*frame.account, directory); });
  buffer_ = c_.local().AddObject<TupleBuffer>([rows, bytes](std::byte* place, Frame& frame) {
    new (place) TupleBuffer(*frame.account, rows, bytes);
  });
}

void JoinBuild::AddFields(const std::vector<const Iu*>& payload) {
  for (const HashJoin::Key& key : keys_) layout_.Add(key.build);
  for (const Iu* iu : payload) layout_.Add(iu);
}

void JoinBuild::GenerateBuild(const char* pipeline, Translator& input, ComponentId task) {
  ReserveState();
  c_.BeginPipeline(pipeline);
  c_.Produce(input);
  c_.EndPipeline({Finish(task)});
}

void JoinBuild::EmitHit(llvm::Value* row) const {
  // Workers may mark one row at the same time, all with the same value.
  llvm::StoreInst* mark = c_.ir().CreateStore(c_.ir().getInt8(1), FieldPointer(c_, row, hit_));
  mark->setAtomic(llvm::AtomicOrdering::Monotonic);
}

llvm::Value* JoinBuild::EmitWasHit(llvm::Value* row) const {
  llvm::Value* hit = c_.ir().CreateLoad(c_.ir().getInt8Ty(), FieldPointer(c_, row, hit_));
  return c_.ir().CreateICmpNE(hit, c_.ir().getInt8(0));
}

void JoinBuild::EmitInsert(bool keep_nulls, const std::function<void(llvm::Value*)>& initialise) const {
  jit::TrackedBuilder& ir = c_.ir();
  std::vector<HashedKey> hashed;
  llvm::Value* never = nullptr;
  for (const HashJoin::Key& key : keys_) {
    SqlValue value = c_.values().Get(key.build);
    if (!key.null_equal) never = EitherNull(c_, never, value.null);
    hashed.push_back({value, Wider(key.build->width(), key.probe->width())});
  }
  auto insert = [&] {
    llvm::Value* hash = EmitHash(c_, hashed);
    llvm::Value* row = EmitAppend(c_, c_.LocalPointer(buffer_), layout_.size());
    ir.CreateStore(hash, FieldPointer(c_, row, 8));
    for (const RowField& field : layout_.fields()) StoreField(c_, row, field, c_.values().Get(field.iu));
    if (hit_ != 0) ir.CreateStore(ir.getInt8(0), FieldPointer(c_, row, hit_));
    if (initialise) initialise(row);
  };
  if (never != nullptr && !keep_nulls) {
    EmitIf(c_, ir.CreateNot(never), insert);
  } else {
    insert();
  }
}

FinishStep JoinBuild::Finish(ComponentId task) const {
  FinishStep step = c_.Finish(operator_id_, task);
  step.open = [table = table_, buffer = buffer_](Frame& frame) {
    JoinTable& join = frame.SharedObject<JoinTable>(table);
    join.Open(frame.LocalObjects<TupleBuffer>(buffer));
    return join.pieces();
  };
  step.run = [table = table_](Frame& frame, std::size_t piece) {
    frame.SharedObject<JoinTable>(table).Insert(piece);
  };
  return step;
}

JoinBuild::Probe JoinBuild::EmitProbeHash() const {
  std::vector<HashedKey> hashed;
  llvm::Value* never = nullptr;
  for (const HashJoin::Key& key : keys_) {
    SqlValue value = c_.values().Get(key.probe);
    if (!key.null_equal) {
      never = EitherNull(c_, never, value.null);
      value.null = nullptr;
    }
    hashed.push_back({value, Wider(key.build->width(), key.probe->width())});
  }
  return {EmitHash(c_, hashed), never};
}

llvm::Value* JoinBuild::EmitChain(const Probe& probe) const {
  jit::TrackedBuilder& ir = c_.ir();
  llvm::Value* table = c_.SharedPointer(table_);
  llvm::Value* directory = ir.CreateLoad(ir.getPtrTy(), FieldPointer(c_, table, JoinTable::kDirectoryOffset));
  llvm::Value* shift = ir.CreateLoad(ir.getInt64Ty(), FieldPointer(c_, table, JoinTable::kShiftOffset));
  llvm::Value* number = ir.CreateLShr(probe.hash, shift);
  llvm::Value* slot =
      ir.CreateLoad(ir.getInt64Ty(), ir.CreateInBoundsGEP(ir.getInt64Ty(), directory, number));
  llvm::Value* class_number = ir.CreateOr(ir.CreateAnd(probe.hash, 15), kJoinFilterShift);
  llvm::Value* may_hold = ir.CreateTrunc(ir.CreateLShr(slot, class_number), ir.getInt1Ty());
  if (probe.never != nullptr) may_hold = ir.CreateAnd(may_hold, ir.CreateNot(probe.never));
  llvm::Value* first = ir.CreateIntToPtr(ir.CreateAnd(slot, kJoinPointerMask), ir.getPtrTy());
  return ir.CreateSelect(may_hold, first, llvm::ConstantPointerNull::get(ir.getPtrTy()));
}

llvm::Value* JoinBuild::EmitMatches(llvm::Value* row, llvm::Value* hash) const {
  jit::TrackedBuilder& ir = c_.ir();
  auto keys_equal = [&] {
    llvm::Value* equal = ir.getTrue();
    for (const HashJoin::Key& key : keys_) {
      SqlValue stored = LoadField(c_, row, *layout_.Find(key.build));
      llvm::Value* same = EmitKeyEqual(c_, stored, key.build->width(), c_.values().Get(key.probe),
                                       key.probe->width(), key.null_equal);
      equal = ir.CreateAnd(equal, same);
    }
    return equal;
  };
  bool texts = false;
  for (const HashJoin::Key& key : keys_) texts |= key.build->width() == Width::kString;
  // Integers are compared at once; the hash spares comparisons of texts.
  if (!texts) return keys_equal();
  llvm::Value* same_hash = ir.CreateICmpEQ(ir.CreateLoad(ir.getInt64Ty(), FieldPointer(c_, row, 8)), hash);
  return EmitChoice(
             c_, same_hash, [&] { return SqlValue{keys_equal()}; }, [&] { return SqlValue{ir.getFalse()}; })
      .data;
}

llvm::Value* JoinBuild::EmitNext(llvm::Value* row) const {
  return c_.ir().CreateLoad(c_.ir().getPtrTy(), row);
}

llvm::Value* JoinBuild::EmitSearch(llvm::Value* row,
                                   const std::function<llvm::Value*(llvm::Value*)>& matches) const {
  jit::TrackedBuilder& ir = c_.ir();
  llvm::AllocaInst* at = c_.module().CreateEntryAlloca(ir.getPtrTy(), "match");
  llvm::AllocaInst* searching = c_.module().CreateEntryAlloca(ir.getInt1Ty(), "searching");
  ir.CreateStore(row, at);
  ir.CreateStore(ir.CreateIsNotNull(row), searching);
  EmitWhile(
      c_, [&] { return ir.CreateLoad(ir.getInt1Ty(), searching); },
      [&] {
        llvm::Value* current = ir.CreateLoad(ir.getPtrTy(), at);
        llvm::Value* hit = matches(current);
        llvm::Value* next = ir.CreateSelect(hit, current, EmitNext(current));
        ir.CreateStore(next, at);
        ir.CreateStore(ir.CreateAnd(ir.CreateNot(hit), ir.CreateIsNotNull(next)), searching);
      });
  return ir.CreateLoad(ir.getPtrTy(), at);
}

void JoinBuild::GenerateScan(ComponentId task, const std::function<void(llvm::Value*)>& body) const {
  auto pieces = [table = table_](const Frame& frame) -> std::uint64_t {
    return frame.SharedObject<JoinTable>(table).pieces();
  };
  c_.GenerateSource(task, pieces, 1, false, [&](llvm::Value* begin, llvm::Value* end) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::Value* bounds = c_.module().CreateEntryAlloca(llvm::ArrayType::get(ir.getPtrTy(), 2), "bounds");
    EmitFor(c_, begin, end, [&](llvm::Value* piece) {
      c_.Call("weft_rt_join_piece", ir.getVoidTy(), {c_.SharedPointer(table_), piece, bounds});
      llvm::Value* first = ir.CreateLoad(ir.getPtrTy(), bounds);
      llvm::Value* last = ir.CreateLoad(ir.getPtrTy(), FieldPointer(c_, bounds, 8));
      EmitForRows(c_, first, last, layout_.size(), body);
    });
  });
}

}  // namespace tailor::weft
