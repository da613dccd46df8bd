// Sort and top-k: rows are materialised by every worker and ordered by a comparison generated for the query.
#include "compiler/weft/runtime/sort.h"

#include <fmt/format.h>
#include <tailor/agent.h>

#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/scalar_code.h"
#include "compiler/weft/codegen/translator.h"

namespace tailor::weft {
namespace {

// Beyond this a heap of all rows to keep is no longer cheaper than sorting everything.
constexpr std::uint64_t kLargestHeap = 65536;

class SortTranslator final : public Translator {
 public:
  SortTranslator(Compilation& c, const Operator& sort, Translator* consumer, std::uint32_t place)
      : Translator(c, sort, consumer, place), layout_(0), name_(fmt::format("less_{}", sort.id)) {
    for (const Iu* iu : sort.outputs) layout_.Add(iu);
    for (const Sort::Key& key : as<Sort>(sort).keys) layout_.Add(key.iu);
    // Never of no size: rows are told apart by their addresses.
    if (layout_.size() == 0) layout_.AddBytes(8, 8);
  }

  void Produce() override {
    scan_ = c_.AddTask("Scan sorted", "sort_scan");
    sort_ = c_.AddTask(limit() ? "Top rows" : "Sort", limit() ? "top" : "sort");
    ReserveState();
    GenerateLess();
    c_.BeginPipeline("sort");
    c_.Produce(input(0));
    c_.EndPipeline({SortStep()});
    EmitScan();
  }

  void Consume(std::uint32_t) override {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::Value* local = c_.LocalPointer(rows_);
    llvm::Value* row = UsesHeap()
                           ? ir.CreateLoad(ir.getPtrTy(), FieldPointer(c_, local, TopRows::kScratchOffset))
                           : EmitAppend(c_, local, layout_.size());
    for (const RowField& field : layout_.fields()) StoreField(c_, row, field, c_.values().Get(field.iu));
    if (UsesHeap()) c_.Call("weft_rt_top_offer", ir.getVoidTy(), {local, less_});
  }

  ComponentId TaskOf(std::uint32_t) const override { return sort_; }

 private:
  std::optional<std::uint64_t> limit() const { return as<Sort>(op()).limit; }
  bool UsesHeap() const { return limit() && *limit() <= kLargestHeap; }

  void ReserveState() {
    std::uint32_t bytes = layout_.size();
    RegionKind kind = c_.Region("sort run", TAILOR_REGION_SORT_RUN, op().id, bytes);
    RegionKind order = c_.Region("sort order", TAILOR_REGION_SORT_RUN, op().id, sizeof(void*));
    sorted_ = c_.shared().AddObject<SortedRows>(
        [order](std::byte* place, Frame& frame) { new (place) SortedRows(*frame.account, order); });
    if (UsesHeap()) {
      rows_ = c_.local().AddObject<TopRows>(
          [kind, order, bytes, most = *limit()](std::byte* place, Frame& frame) {
            new (place) TopRows(*frame.account, kind, order, bytes, most);
          });
    } else {
      rows_ = c_.local().AddObject<TupleBuffer>([kind, bytes](std::byte* place, Frame& frame) {
        new (place) TupleBuffer(*frame.account, kind, bytes);
      });
    }
  }

  // bool less(a, b): the first key in which the rows differ decides.
  void GenerateLess() {
    c_.RunTask(sort_, [this] {
      jit::TrackedBuilder& ir = c_.ir();
      auto* type = llvm::FunctionType::get(ir.getInt1Ty(), {ir.getPtrTy(), ir.getPtrTy()}, false);
      less_ = c_.module().BeginFunction(name_, type);
      less_->addRetAttr(llvm::Attribute::ZExt);
      for (const Sort::Key& key : as<Sort>(op()).keys) EmitKey(key, less_->getArg(0), less_->getArg(1));
      ir.CreateRet(ir.getFalse());
    });
  }

  void EmitKey(const Sort::Key& key, llvm::Value* a_row, llvm::Value* b_row) {
    jit::TrackedBuilder& ir = c_.ir();
    Width width = key.iu->width();
    const RowField& field = *layout_.Find(key.iu);
    SqlValue a = LoadField(c_, a_row, field);
    SqlValue b = LoadField(c_, b_row, field);
    const SqlValue& low = key.descending ? b : a;
    const SqlValue& high = key.descending ? a : b;
    llvm::Value* before = EmitLess(c_, low, width, high, width);
    llvm::Value* after = EmitLess(c_, high, width, low, width);
    if (a.null != nullptr) {
      llvm::Value* either = ir.CreateOr(a.null, b.null);
      llvm::Value* first = key.nulls_first ? a.null : b.null;
      llvm::Value* last = key.nulls_first ? b.null : a.null;
      before = ir.CreateSelect(either, ir.CreateAnd(first, ir.CreateNot(last)), before);
      after = ir.CreateSelect(either, ir.CreateAnd(last, ir.CreateNot(first)), after);
    }
    llvm::BasicBlock* decided = llvm::BasicBlock::Create(c_.module().context(), "decided", less_);
    llvm::BasicBlock* next = llvm::BasicBlock::Create(c_.module().context(), "next_key", less_);
    ir.CreateCondBr(ir.CreateOr(before, after), decided, next);
    ir.SetInsertPoint(decided);
    ir.CreateRet(before);
    ir.SetInsertPoint(next);
  }

  FinishStep SortStep() {
    FinishStep step = c_.Finish(op().id, sort_);
    auto less = [name = name_](Frame& frame) { return reinterpret_cast<RowLess>(frame.function(name)); };
    bool heap = UsesHeap();
    step.open = [=, shared = sorted_, local = rows_](Frame& frame) {
      std::vector<TupleBuffer*> buffers;
      for (std::size_t worker = 0; worker < frame.locals.size(); ++worker) {
        buffers.push_back(heap ? &frame.LocalObject<TopRows>(worker, local).rows()
                               : &frame.LocalObject<TupleBuffer>(worker, local));
      }
      SortedRows& rows = frame.SharedObject<SortedRows>(shared);
      rows.Collect(buffers, static_cast<unsigned>(frame.locals.size()));
      return rows.runs();
    };
    step.run = [=, shared = sorted_](Frame& frame, std::size_t run) {
      frame.SharedObject<SortedRows>(shared).SortRun(run, less(frame));
    };
    step.close = [=, shared = sorted_](Frame& frame) {
      frame.SharedObject<SortedRows>(shared).Merge(less(frame));
    };
    return step;
  }

  void EmitScan() {
    auto tuples = [shared = sorted_, most = limit()](const Frame& frame) {
      std::uint64_t rows = frame.SharedObject<SortedRows>(shared).size();
      return most ? std::min(rows, *most) : rows;
    };
    c_.GenerateSource(scan_, tuples, 4096, true, [&](llvm::Value* begin, llvm::Value* end) {
      jit::TrackedBuilder& ir = c_.ir();
      llvm::Value* rows = c_.Call("weft_rt_sorted_rows", ir.getPtrTy(), {c_.SharedPointer(sorted_)});
      EmitFor(c_, begin, end, [&](llvm::Value* i) {
        llvm::Value* row = ir.CreateLoad(ir.getPtrTy(), ir.CreateInBoundsGEP(ir.getPtrTy(), rows, i));
        BindRow(c_, scan_, layout_, row);
        c_.Consume(*this);
      });
    });
  }

  RowLayout layout_;
  std::string name_;
  ComponentId scan_ = 0;
  ComponentId sort_ = 0;
  std::size_t sorted_ = 0;
  std::size_t rows_ = 0;
  llvm::Function* less_ = nullptr;
};

}  // namespace

std::unique_ptr<Translator> MakeSort(Compilation& c, const Operator& op, Translator* parent,
                                     std::uint32_t input) {
  return std::make_unique<SortTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
