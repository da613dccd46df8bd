#include "compiler/weft/codegen/join_code.h"

#include <tailor/agent.h>

#include <algorithm>

#include "compiler/weft/codegen/access_code.h"
#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/translator.h"
#include "compiler/weft/runtime/join_table.h"

namespace tailor::weft {
namespace {

constexpr const char* kJoinRows = "join build";
constexpr const char* kJoinDirectory = "join directory";

}  // namespace

void JoinBuild::reserve_state() {
  std::uint32_t bytes = layout_.size();
  RegionKind rows = c_.region(kJoinRows, TAILOR_REGION_HASH_TABLE, op_.id, bytes);
  RegionKind directory = c_.region(kJoinDirectory, TAILOR_REGION_DIRECTORY, op_.id, 8);
  table_ = c_.shared().add_object<JoinTable>(
      [directory](std::byte* place, Frame& frame) { new (place) JoinTable(*frame.account, directory); });
  buffer_ = c_.local().add_object<TupleBuffer>([rows, bytes](std::byte* place, Frame& frame) {
    new (place) TupleBuffer(*frame.account, rows, bytes);
  });
}

void JoinBuild::add_fields(const std::vector<const Iu*>& payload) {
  for (const HashJoin::Key& key : keys_) layout_.add(key.build);
  for (const Iu* iu : payload) layout_.add(iu);
}

void JoinBuild::generate_build(const char* pipeline, Translator& input, ComponentId task) {
  task_ = task;
  reserve_state();
  c_.begin_pipeline(pipeline);
  c_.produce(input);
  tell_finish();
  c_.end_pipeline({finish(task)});
}

void JoinBuild::emit_hit(llvm::Value* row) const {
  // Workers may mark one row at the same time, all with the same value.
  llvm::StoreInst* mark = c_.ir().CreateStore(c_.ir().getInt8(1), field_pointer(c_, row, hit_));
  mark->setAtomic(llvm::AtomicOrdering::Monotonic);
}

llvm::Value* JoinBuild::emit_was_hit(llvm::Value* row) const {
  llvm::Value* hit = c_.ir().CreateLoad(c_.ir().getInt8Ty(), field_pointer(c_, row, hit_));
  return c_.ir().CreateICmpNE(hit, c_.ir().getInt8(0));
}

void JoinBuild::emit_insert(bool keep_nulls, const std::function<void(llvm::Value*)>& initialise) {
  jit::TrackedBuilder& ir = c_.ir();
  std::vector<HashedKey> hashed;
  llvm::Value* never = nullptr;
  for (const HashJoin::Key& key : keys_) {
    SqlValue value = c_.values().get(key.build);
    if (!key.null_equal) never = either_null(c_, never, value.null);
    hashed.push_back({value, wider(key.build->width(), key.probe->width())});
  }
  auto insert = [&] {
    llvm::Value* hash = emit_hash(c_, hashed);
    llvm::Value* row = emit_append(c_, c_.local_pointer(buffer_), layout_.size());
    ir.CreateStore(hash, field_pointer(c_, row, 8));
    for (const RowField& field : layout_.fields()) store_field(c_, row, field, c_.values().get(field.iu));
    if (hit_ != 0) ir.CreateStore(ir.getInt8(0), field_pointer(c_, row, hit_));
    if (initialise) initialise(row);
  };
  if (never != nullptr && !keep_nulls) {
    inserts_all_ = false;
    emit_if(c_, ir.CreateNot(never), insert);
  } else {
    insert();
  }
  tell_insert();
}

FinishStep JoinBuild::finish(ComponentId task) const {
  FinishStep step = c_.finish(op_.id, task);
  step.open = [table = table_, buffer = buffer_](Frame& frame) {
    JoinTable& join = frame.shared_object<JoinTable>(table);
    join.open(frame.local_objects<TupleBuffer>(buffer));
    return join.pieces();
  };
  step.run = [table = table_](Frame& frame, std::size_t piece) {
    frame.shared_object<JoinTable>(table).insert(piece);
  };
  return step;
}

JoinBuild::Probe JoinBuild::emit_probe_hash() const {
  std::vector<HashedKey> hashed;
  llvm::Value* never = nullptr;
  for (const HashJoin::Key& key : keys_) {
    SqlValue value = c_.values().get(key.probe);
    if (!key.null_equal) {
      never = either_null(c_, never, value.null);
      value.null = nullptr;
    }
    hashed.push_back({value, wider(key.build->width(), key.probe->width())});
  }
  return {emit_hash(c_, hashed), never};
}

llvm::Value* JoinBuild::emit_chain(const Probe& probe) const {
  jit::TrackedBuilder& ir = c_.ir();
  llvm::Value* table = c_.shared_pointer(table_);
  llvm::Value* directory =
      ir.CreateLoad(ir.getPtrTy(), field_pointer(c_, table, JoinTable::kDirectoryOffset));
  llvm::Value* shift = ir.CreateLoad(ir.getInt64Ty(), field_pointer(c_, table, JoinTable::kShiftOffset));
  llvm::Value* number = ir.CreateLShr(probe.hash, shift);
  llvm::Value* slot =
      ir.CreateLoad(ir.getInt64Ty(), ir.CreateInBoundsGEP(ir.getInt64Ty(), directory, number));
  llvm::Value* class_number = ir.CreateOr(ir.CreateAnd(probe.hash, 15), kJoinFilterShift);
  llvm::Value* may_hold = ir.CreateTrunc(ir.CreateLShr(slot, class_number), ir.getInt1Ty());
  if (probe.never != nullptr) may_hold = ir.CreateAnd(may_hold, ir.CreateNot(probe.never));
  llvm::Value* first = ir.CreateIntToPtr(ir.CreateAnd(slot, kJoinPointerMask), ir.getPtrTy());
  return ir.CreateSelect(may_hold, first, llvm::ConstantPointerNull::get(ir.getPtrTy()));
}

llvm::Value* JoinBuild::emit_matches(llvm::Value* row, llvm::Value* hash) const {
  jit::TrackedBuilder& ir = c_.ir();
  auto keys_equal = [&] {
    llvm::Value* equal = ir.getTrue();
    for (const HashJoin::Key& key : keys_) {
      SqlValue stored = load_field(c_, row, *layout_.find(key.build));
      llvm::Value* same = emit_key_equal(c_, stored, key.build->width(), c_.values().get(key.probe),
                                         key.probe->width(), key.null_equal);
      equal = ir.CreateAnd(equal, same);
    }
    return equal;
  };
  bool texts = false;
  for (const HashJoin::Key& key : keys_) texts |= key.build->width() == Width::kString;
  // Integers are compared at once; the hash spares comparisons of texts.
  if (!texts) return keys_equal();
  llvm::Value* same_hash = ir.CreateICmpEQ(ir.CreateLoad(ir.getInt64Ty(), field_pointer(c_, row, 8)), hash);
  return emit_choice(
             c_, same_hash, [&] { return SqlValue{keys_equal()}; }, [&] { return SqlValue{ir.getFalse()}; })
      .data;
}

llvm::Value* JoinBuild::emit_next(llvm::Value* row) const {
  return c_.ir().CreateLoad(c_.ir().getPtrTy(), row);
}

llvm::Value* JoinBuild::emit_search(llvm::Value* row,
                                    const std::function<llvm::Value*(llvm::Value*)>& matches) const {
  jit::TrackedBuilder& ir = c_.ir();
  llvm::AllocaInst* at = c_.module().create_entry_alloca(ir.getPtrTy(), "match");
  llvm::AllocaInst* searching = c_.module().create_entry_alloca(ir.getInt1Ty(), "searching");
  ir.CreateStore(row, at);
  ir.CreateStore(ir.CreateIsNotNull(row), searching);
  emit_while(
      c_, [&] { return ir.CreateLoad(ir.getInt1Ty(), searching); },
      [&] {
        llvm::Value* current = ir.CreateLoad(ir.getPtrTy(), at);
        llvm::Value* hit = matches(current);
        llvm::Value* next = ir.CreateSelect(hit, current, emit_next(current));
        ir.CreateStore(next, at);
        ir.CreateStore(ir.CreateAnd(ir.CreateNot(hit), ir.CreateIsNotNull(next)), searching);
      });
  return ir.CreateLoad(ir.getPtrTy(), at);
}

void JoinBuild::generate_scan(ComponentId task, bool reads_hits,
                              const std::function<void(llvm::Value*)>& body) const {
  auto pieces = [table = table_](const Frame& frame) -> std::uint64_t {
    return frame.shared_object<JoinTable>(table).pieces();
  };
  c_.generate_source(task, pieces, 1, false, [&](llvm::Value* begin, llvm::Value* end) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::Value* bounds = c_.module().create_entry_alloca(llvm::ArrayType::get(ir.getPtrTy(), 2), "bounds");
    emit_for(c_, begin, end, [&](llvm::Value* piece) {
      c_.call("weft_rt_join_piece", ir.getVoidTy(), {c_.shared_pointer(table_), piece, bounds});
      llvm::Value* first = ir.CreateLoad(ir.getPtrTy(), bounds);
      llvm::Value* last = ir.CreateLoad(ir.getPtrTy(), field_pointer(c_, bounds, 8));
      emit_for_rows(c_, first, last, layout_.size(), body);
    });
    // What else of a row is read depends on the row and on those who consume it.
    v1::Access rows = reads_hits ? all_rows() : unknown_access(kJoinRows, op_.id, layout_.size());
    rows.set_reads(true);
    rows.set_used_bytes(hit_ + 1);
    rows.set_at_least(true);
    c_.add_access(task, std::move(rows));
  });
}

v1::Count JoinBuild::row_count() const {
  return inserts_all_ ? rows_of(*op_.inputs[0]) : v1::Count();
}

// As JoinTable::open() has it.
v1::Count JoinBuild::slot_count() const {
  v1::Count slots = row_count();
  slots.set_factor(1.5);
  slots.set_power_of_two(true);
  return slots;
}

v1::Access JoinBuild::all_rows() const {
  return sequential_access(kJoinRows, op_.id, layout_.size(), row_count());
}

v1::Access JoinBuild::any_slots(const v1::Count& accesses) const {
  // Without keys all rows lie in one slot.
  if (keys_.empty()) return unknown_access(kJoinDirectory, op_.id, 8);
  return random_access(kJoinDirectory, op_.id, 8, slot_count(), accesses);
}

void JoinBuild::tell_insert() const {
  v1::Count arriving = rows_at_a_place(*op_.inputs[0]);
  v1::Access rows =
      sequential_access(kJoinRows, op_.id, layout_.size(), inserts_all_ ? arriving : v1::Count());
  rows.set_writes(true);
  c_.add_access(task_, std::move(rows));
}

void JoinBuild::tell_finish() const {
  v1::Access zeroes = sequential_access(kJoinDirectory, op_.id, 8, slot_count());
  zeroes.set_writes(true);
  zeroes.set_step(1);
  c_.add_access(task_, std::move(zeroes));
  // The hash of each row says which slot it gets. The row keeps what was in that slot before.
  v1::Access headers = all_rows();
  headers.set_used_bytes(kHashRowBytes);
  v1::Access slots = any_slots(row_count());
  for (v1::Access* access : {&headers, &slots}) {
    access->set_reads(true);
    access->set_writes(true);
    access->set_step(2);
    c_.add_access(task_, *access);
  }
}

void JoinBuild::tell_probe(ComponentId task, const v1::Count& found, bool marks) const {
  v1::Access slots = any_slots(rows_at_a_place(*op_.inputs[1]));
  slots.set_reads(true);
  c_.add_access(task, std::move(slots));
  // A chain has other rows, too. What is behind the keys is read where somebody needs it.
  std::uint32_t keys_end = kHashRowBytes;
  for (const HashJoin::Key& key : keys_) {
    const RowField& field = *layout_.find(key.build);
    keys_end = std::max({keys_end, field.offset + width_bytes(key.build->width()), field.null_offset + 1});
  }
  v1::Access rows = keys_.empty() ? unknown_access(kJoinRows, op_.id, layout_.size())
                                  : random_access(kJoinRows, op_.id, layout_.size(), row_count(), found);
  rows.set_reads(true);
  rows.set_writes(marks);
  rows.set_used_bytes(keys_end);
  rows.set_at_least(true);
  c_.add_access(task, std::move(rows));
}

}  // namespace tailor::weft
