// Sort and top-k: rows are materialised by every worker and ordered by a comparison generated for the query.
#include "compiler/weft/runtime/sort.h"

#include <fmt/format.h>
#include <tailor/agent.h>

#include "compiler/weft/codegen/access_code.h"
#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/scalar_code.h"
#include "compiler/weft/codegen/translator.h"

namespace tailor::weft {
namespace {

// Beyond this a heap of all rows to keep is no longer cheaper than sorting everything.
constexpr std::uint64_t kLargestHeap = 65536;

constexpr const char* kSortRows = "sort run";
constexpr const char* kSortOrder = "sort order";

class SortTranslator final : public Translator {
 public:
  SortTranslator(Compilation& c, const Operator& sort, Translator* consumer, std::uint32_t place)
      : Translator(c, sort, consumer, place), layout_(0), name_(fmt::format("less_{}", sort.id)) {
    for (const Iu* iu : sort.outputs) layout_.add(iu);
    for (const Sort::Key& key : as<Sort>(sort).keys) layout_.add(key.iu);
    // Never of no size: each row needs an address of its own.
    if (layout_.size() == 0) layout_.add_bytes(8, 8);
  }

  void produce() override {
    scan_ = c_.add_task("Scan sorted", "sort_scan");
    sort_ = c_.add_task(limit() ? "Top rows" : "Sort", limit() ? "top" : "sort");
    reserve_state();
    generate_less();
    c_.begin_pipeline("sort");
    c_.produce(input(0));
    tell_sort();
    c_.end_pipeline({sort_step()});
    emit_scan();
  }

  void consume(std::uint32_t) override {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::Value* local = c_.local_pointer(rows_);
    llvm::Value* row = uses_heap()
                           ? ir.CreateLoad(ir.getPtrTy(), field_pointer(c_, local, TopRows::kScratchOffset))
                           : emit_append(c_, local, layout_.size());
    for (const RowField& field : layout_.fields()) store_field(c_, row, field, c_.values().get(field.iu));
    if (uses_heap()) c_.call("weft_rt_top_offer", ir.getVoidTy(), {local, less_});
    tell_rows();
  }

  ComponentId task_of(std::uint32_t) const override { return sort_; }

 private:
  std::optional<std::uint64_t> limit() const { return as<Sort>(op()).limit; }
  bool uses_heap() const { return limit() && *limit() <= kLargestHeap; }

  void reserve_state() {
    std::uint32_t bytes = layout_.size();
    RegionKind kind = c_.region(kSortRows, TAILOR_REGION_SORT_RUN, op().id, bytes);
    RegionKind order = c_.region(kSortOrder, TAILOR_REGION_SORT_RUN, op().id, sizeof(void*));
    sorted_ = c_.shared().add_object<SortedRows>(
        [order](std::byte* place, Frame& frame) { new (place) SortedRows(*frame.account, order); });
    if (uses_heap()) {
      rows_ = c_.local().add_object<TopRows>(
          [kind, order, bytes, most = *limit()](std::byte* place, Frame& frame) {
            new (place) TopRows(*frame.account, kind, order, bytes, most);
          });
    } else {
      rows_ = c_.local().add_object<TupleBuffer>([kind, bytes](std::byte* place, Frame& frame) {
        new (place) TupleBuffer(*frame.account, kind, bytes);
      });
    }
  }

  // Of a heap nobody knows which rows stay, and how they move in it.
  void tell_rows() {
    v1::Access rows =
        uses_heap() ? unknown_access(kSortRows, op().id, layout_.size())
                    : sequential_access(kSortRows, op().id, layout_.size(), rows_at_a_place(*op().inputs[0]));
    rows.set_writes(true);
    c_.add_access(sort_, std::move(rows));
  }

  // Pointers to all rows are written, and then moved. How many comparisons that takes, and of which rows, the
  // rows decide.
  void tell_sort() {
    v1::Access pointers = sequential_access(kSortOrder, op().id, sizeof(void*),
                                            uses_heap() ? v1::Count() : rows_of(*op().inputs[0]));
    pointers.set_writes(true);
    pointers.set_step(1);
    c_.add_access(sort_, std::move(pointers));
    v1::Access order = unknown_access(kSortOrder, op().id, sizeof(void*));
    order.set_writes(true);
    v1::Access rows = unknown_access(kSortRows, op().id, layout_.size());
    for (v1::Access* access : {&order, &rows}) {
      access->set_reads(true);
      access->set_step(2);
      c_.add_access(sort_, *access);
    }
  }

  // Each consumer reads what it needs of a row.
  void tell_scan() {
    v1::Access order = sequential_access(kSortOrder, op().id, sizeof(void*), rows_of(op()));
    v1::Access rows = unknown_access(kSortRows, op().id, layout_.size());
    for (v1::Access* access : {&order, &rows}) {
      access->set_reads(true);
      c_.add_access(scan_, *access);
    }
  }

  // bool less(a, b): the first key in which the rows differ decides.
  void generate_less() {
    c_.run_task(sort_, [this] {
      jit::TrackedBuilder& ir = c_.ir();
      auto* type = llvm::FunctionType::get(ir.getInt1Ty(), {ir.getPtrTy(), ir.getPtrTy()}, false);
      less_ = c_.module().begin_function(name_, type);
      less_->addRetAttr(llvm::Attribute::ZExt);
      for (const Sort::Key& key : as<Sort>(op()).keys) emit_key(key, less_->getArg(0), less_->getArg(1));
      ir.CreateRet(ir.getFalse());
    });
  }

  void emit_key(const Sort::Key& key, llvm::Value* a_row, llvm::Value* b_row) {
    jit::TrackedBuilder& ir = c_.ir();
    Width width = key.iu->width();
    const RowField& field = *layout_.find(key.iu);
    SqlValue a = load_field(c_, a_row, field);
    SqlValue b = load_field(c_, b_row, field);
    const SqlValue& low = key.descending ? b : a;
    const SqlValue& high = key.descending ? a : b;
    llvm::Value* before = emit_less(c_, low, width, high, width);
    llvm::Value* after = emit_less(c_, high, width, low, width);
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

  FinishStep sort_step() {
    FinishStep step = c_.finish(op().id, sort_);
    auto less = [name = name_](Frame& frame) { return reinterpret_cast<RowLess>(frame.function(name)); };
    bool heap = uses_heap();
    step.open = [=, shared = sorted_, local = rows_](Frame& frame) {
      std::vector<TupleBuffer*> buffers;
      for (std::size_t worker = 0; worker < frame.locals.size(); ++worker) {
        buffers.push_back(heap ? &frame.local_object<TopRows>(worker, local).rows()
                               : &frame.local_object<TupleBuffer>(worker, local));
      }
      SortedRows& rows = frame.shared_object<SortedRows>(shared);
      rows.collect(buffers, static_cast<unsigned>(frame.locals.size()));
      return rows.runs();
    };
    step.run = [=, shared = sorted_](Frame& frame, std::size_t run) {
      frame.shared_object<SortedRows>(shared).sort_run(run, less(frame));
    };
    step.close = [=, shared = sorted_](Frame& frame) {
      frame.shared_object<SortedRows>(shared).merge(less(frame));
    };
    return step;
  }

  void emit_scan() {
    auto tuples = [shared = sorted_, most = limit()](const Frame& frame) {
      std::uint64_t rows = frame.shared_object<SortedRows>(shared).size();
      return most ? std::min(rows, *most) : rows;
    };
    c_.generate_source(scan_, tuples, 4096, true, [&](llvm::Value* begin, llvm::Value* end) {
      jit::TrackedBuilder& ir = c_.ir();
      llvm::Value* rows = c_.call("weft_rt_sorted_rows", ir.getPtrTy(), {c_.shared_pointer(sorted_)});
      emit_for(c_, begin, end, [&](llvm::Value* i) {
        llvm::Value* row = ir.CreateLoad(ir.getPtrTy(), ir.CreateInBoundsGEP(ir.getPtrTy(), rows, i));
        bind_row(c_, scan_, layout_, row);
        c_.consume(*this);
      });
      tell_scan();
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

std::unique_ptr<Translator> make_sort(Compilation& c, const Operator& op, Translator* parent,
                                      std::uint32_t input) {
  return std::make_unique<SortTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
