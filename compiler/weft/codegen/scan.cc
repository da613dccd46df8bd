// Scan: a loop over the rows of a morsel; columns are loaded where they are first needed.
#include <llvm/IR/MDBuilder.h>

#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/codegen/expression_code.h"
#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/scalar_code.h"
#include "compiler/weft/codegen/translator.h"

namespace tailor::weft {
namespace {

constexpr std::uint64_t kMorselRows = 16384;

class ScanTranslator final : public Translator {
 public:
  using Translator::Translator;

  void produce() override {
    const Scan& scan = as<Scan>(op());
    task_ = c_.add_task("Scan " + scan.table->name, "scan");
    const Table* table = c_.database().find(scan.table->name);
    std::vector<Source> sources;
    for (const Scan::Column& column : scan.columns) {
      std::size_t offset = c_.shared().add_bytes(3 * sizeof(void*));
      c_.program().columns.push_back({offset, scan.table, column.index});
      sources.push_back({&table->columns[column.index], column.iu, offset, nullptr, nullptr, nullptr});
    }
    std::uint64_t rows = table->rows;
    c_.generate_source(
        task_, [rows](const Frame&) { return rows; }, kMorselRows, false,
        [&](llvm::Value* begin, llvm::Value* end) {
          for (Source& source : sources) load_pointers(source);
          emit_for(c_, begin, end, [&](llvm::Value* row) { emit_row(scan, sources, row); });
          for (std::size_t i = 0; i < sources.size(); ++i) tell_access(*table, *sources[i].column, loads_[i]);
        });
  }

  void consume(std::uint32_t) override {}
  ComponentId task_of(std::uint32_t) const override { return task_; }

 private:
  struct Source {
    const Column* column;
    const Iu* iu;
    std::size_t offset;
    llvm::Value* values;
    llvm::Value* heap;
    llvm::Value* nulls;
  };

  // For which rows a column is loaded. Where other code decides it, nobody counts them.
  enum class Loads : unsigned char { kNone, kAll, kPassing, kSome };

  // Of a load that is generated now, by its block: that of each row, or that of each row which passes.
  Loads loads_here() {
    const llvm::BasicBlock* here = c_.ir().GetInsertBlock();
    if (here == of_row_) return Loads::kAll;
    return here == of_passing_ ? Loads::kPassing : Loads::kSome;
  }

  void tell_access(const Table& table, const Column& column, Loads loads) {
    if (loads == Loads::kNone) return;
    v1::Access access;
    access.set_reads(true);
    access.mutable_items()->set_fixed(table.rows);
    if (loads == Loads::kAll) access.set_pattern(v1::ACCESS_SEQUENTIAL);
    if (loads == Loads::kPassing) {
      access.set_pattern(v1::ACCESS_CONDITIONAL);
      access.mutable_accesses()->set_rows_of(op().id);
    }
    const std::string name = table.name + "." + column.name;
    const auto tell = [&](const std::string& region, std::size_t item_bytes) {
      access.set_region(region);
      access.set_item_bytes(static_cast<std::uint32_t>(item_bytes));
      c_.add_access(task_, access);
    };
    tell(name, element_size(column.storage));
    if (column.nulls != nullptr) tell(name + " (nulls)", 1);
    if (column.heap_bytes == 0) return;
    // Texts have no one width, and who compares them may read their begin alone.
    access.set_pattern(v1::ACCESS_UNKNOWN);
    access.clear_items();
    access.clear_accesses();
    tell(name + " (texts)", 0);
  }

  // Tables do not change while a query runs.
  llvm::Value* load_constant(llvm::Type* type, llvm::Value* place, const llvm::Twine& name = "") {
    llvm::LoadInst* load = c_.ir().CreateLoad(type, place, name);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(c_.module().context(), {}));
    return load;
  }

  void load_pointers(Source& source) {
    llvm::Type* pointer = c_.ir().getPtrTy();
    source.values = load_constant(pointer, c_.shared_pointer(source.offset), source.column->name);
    if (is_string(source.column->storage)) {
      source.heap =
          load_constant(pointer, c_.shared_pointer(source.offset + 8), source.column->name + ".heap");
    }
    if (source.column->nulls != nullptr) {
      source.nulls =
          load_constant(pointer, c_.shared_pointer(source.offset + 16), source.column->name + ".nulls");
    }
  }

  void emit_row(const Scan& scan, const std::vector<Source>& sources, llvm::Value* row) {
    of_row_ = c_.ir().GetInsertBlock();
    of_passing_ = nullptr;
    loads_.assign(sources.size(), Loads::kNone);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Source& source = sources[i];
      c_.values().bind_lazy(source.iu, [this, source, row, i] {
        // Of code that is generated for several places, each loads it for some rows.
        loads_[i] = loads_[i] == Loads::kNone ? loads_here() : Loads::kSome;
        SqlValue value;
        c_.run_task(task_, [&] { value = load_column(source, row); });
        return value;
      });
    }
    emit_conjuncts(c_, scan.conjuncts, [&] {
      of_passing_ = c_.ir().GetInsertBlock();
      c_.consume(*this);
    });
  }

  SqlValue load_column(const Source& source, llvm::Value* row) {
    jit::TrackedBuilder& ir = c_.ir();
    const std::string& name = source.column->name;
    StorageKind storage = source.column->storage;
    llvm::Type* element = ir.getIntNTy(static_cast<unsigned>(element_size(storage) * 8));
    SqlValue value;
    llvm::Value* loaded = load_constant(element, ir.CreateInBoundsGEP(element, source.values, row), name);
    if (is_string(storage)) {
      llvm::Value* next = ir.CreateNUWAdd(row, ir.getInt64(1));
      llvm::Value* end = load_constant(element, ir.CreateInBoundsGEP(element, source.values, next));
      llvm::Value* begin = ir.CreateZExt(loaded, ir.getInt64Ty());
      value.data = ir.CreateInBoundsGEP(ir.getInt8Ty(), source.heap, begin);
      value.length = ir.CreateZExt(ir.CreateSub(end, loaded), ir.getInt64Ty());
    } else if (source.iu->width() == Width::k1) {
      value.data = ir.CreateICmpNE(loaded, llvm::ConstantInt::get(element, 0));
    } else if (storage == StorageKind::kChar) {
      value.data = loaded;
    } else {
      value.data = to_width(c_, loaded, source.iu->width());
    }
    if (source.nulls != nullptr) {
      llvm::Value* flag =
          load_constant(ir.getInt8Ty(), ir.CreateInBoundsGEP(ir.getInt8Ty(), source.nulls, row));
      value.null = ir.CreateICmpNE(flag, ir.getInt8(0));
    }
    return value;
  }

  ComponentId task_ = 0;
  const llvm::BasicBlock* of_row_ = nullptr;      // where code for each row begins
  const llvm::BasicBlock* of_passing_ = nullptr;  // and that for each row which passes the conjuncts
  std::vector<Loads> loads_;                      // of each column
};

}  // namespace

std::unique_ptr<Translator> make_scan(Compilation& c, const Operator& op, Translator* parent,
                                      std::uint32_t input) {
  return std::make_unique<ScanTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
