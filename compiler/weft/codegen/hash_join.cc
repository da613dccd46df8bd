// Hash join of all kinds.
//
// Where the preserved side probes, a match is decided while probing. Where it is built, hits are marked in
// the rows of the table, and a scan over the table yields the preserved rows afterwards.
#include "compiler/weft/codegen/access_code.h"
#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/codegen/expression_code.h"
#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/join_code.h"
#include "compiler/weft/codegen/translator.h"
#include "compiler/weft/runtime/hash_row.h"

namespace tailor::weft {
namespace {

class HashJoinTranslator final : public Translator {
 public:
  HashJoinTranslator(Compilation& c, const Operator& operation, Translator* consumer, std::uint32_t place)
      : Translator(c, operation, consumer, place),
        join_(as<HashJoin>(operation)),
        layout_(kHashRowBytes),
        build_(c, operation, join_.keys, layout_, build_preserved()) {
    build_.add_fields(join_.build().outputs);
  }

  void produce() override {
    probe_task_ = c_.add_task("Probe", "hash_probe");
    if (build_preserved()) scan_task_ = c_.add_task("Scan table", "join_scan");
    build_task_ = c_.add_task("Build", "hash_build");
    build_.generate_build("join build", input(0), build_task_);
    if (!build_preserved()) return c_.produce(input(1));
    bool probe_emits = join_.join == JoinKind::kOuter;
    if (!probe_emits) c_.begin_pipeline("join mark");
    c_.produce(input(1));
    if (!probe_emits) c_.end_pipeline({});
    build_.generate_scan(scan_task_, true, [&](llvm::Value* row) { emit_preserved(row); });
  }

  void consume(std::uint32_t input) override {
    if (input == 0) {
      build_.emit_insert(build_preserved());
    } else {
      emit_probe();
    }
  }

  ComponentId task_of(std::uint32_t input) const override { return input == 0 ? build_task_ : probe_task_; }

 private:
  bool build_preserved() const {
    return join_.join != JoinKind::kInner && join_.preserved == JoinSide::kBuild;
  }

  // Rows of the table that probes find, as far as the rows of the join tell it: each stands for a match then.
  v1::Count found_rows() const {
    const bool by_matches = join_.join == JoinKind::kInner ||
                            (join_.join == JoinKind::kSemi && join_.preserved == JoinSide::kProbe);
    return by_matches ? rows_at_a_place(join_) : v1::Count();
  }

  // Keys and residual, as i1.
  llvm::Value* emit_match(llvm::Value* row, llvm::Value* hash) {
    llvm::Value* equal = build_.emit_matches(row, hash);
    if (join_.residual.empty()) return equal;
    return emit_choice(
               c_, equal,
               [&] {
                 bind_row(c_, probe_task_, layout_, row);
                 return SqlValue{emit_all_true(c_, join_.residual)};
               },
               [&] { return SqlValue{c_.ir().getFalse()}; })
        .data;
  }

  void emit_probe() {
    JoinBuild::Probe probe = build_.emit_probe_hash();
    llvm::Value* chain = build_.emit_chain(probe);
    build_.tell_probe(probe_task_, found_rows(), build_preserved());
    auto matches = [&](llvm::Value* row) { return emit_match(row, probe.hash); };
    if (build_preserved()) return emit_mark_all(chain, matches);
    switch (join_.join) {
      case JoinKind::kInner:
        return emit_inner(chain, matches);
      case JoinKind::kOuter:
      case JoinKind::kSingle:
        return emit_outer(chain, matches);
      case JoinKind::kSemi:
      case JoinKind::kAnti:
      case JoinKind::kMark:
        return emit_existence(build_.emit_search(chain, matches));
    }
  }

  using Matches = std::function<llvm::Value*(llvm::Value*)>;

  void emit_inner(llvm::Value* chain, const Matches& matches) {
    jit::TrackedBuilder& ir = c_.ir();
    if (join_.build_unique) {
      llvm::Value* row = build_.emit_search(chain, matches);
      return emit_if(c_, ir.CreateIsNotNull(row), [&] { emit_pair(row); });
    }
    for_each_row(chain, [&](llvm::Value* row) { emit_if(c_, matches(row), [&] { emit_pair(row); }); });
  }

  void emit_pair(llvm::Value* row) {
    bind_row(c_, probe_task_, layout_, row);
    c_.consume(*this);
  }

  void for_each_row(llvm::Value* chain, const std::function<void(llvm::Value*)>& body) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::AllocaInst* at = c_.module().create_entry_alloca(ir.getPtrTy(), "chain");
    ir.CreateStore(chain, at);
    emit_while(
        c_, [&] { return ir.CreateIsNotNull(ir.CreateLoad(ir.getPtrTy(), at)); },
        [&] {
          llvm::Value* row = ir.CreateLoad(ir.getPtrTy(), at);
          body(row);
          ir.CreateStore(build_.emit_next(row), at);
        });
  }

  void emit_existence(llvm::Value* found) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::Value* exists = ir.CreateIsNotNull(found);
    if (join_.join == JoinKind::kMark) {
      c_.values().bind(join_.mark, {exists, nullptr, nullptr});
      return c_.consume(*this);
    }
    if (join_.join == JoinKind::kAnti) exists = ir.CreateNot(exists);
    emit_if(c_, exists, [&] { c_.consume(*this); });
  }

  // Every probe tuple once for each of its matches, at least once: then with nulls. The consumer's code is
  // generated once; where there is no match it reads a row of zeros and every value is null.
  void emit_outer(llvm::Value* chain, const Matches& matches) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::AllocaInst* at = c_.module().create_entry_alloca(ir.getPtrTy(), "outer");
    llvm::AllocaInst* more = c_.module().create_entry_alloca(ir.getInt1Ty(), "more");
    ir.CreateStore(build_.emit_search(chain, matches), at);
    ir.CreateStore(ir.getTrue(), more);
    emit_while(
        c_, [&] { return ir.CreateLoad(ir.getInt1Ty(), more); },
        [&] {
          llvm::Value* row = ir.CreateLoad(ir.getPtrTy(), at);
          llvm::Value* missing = ir.CreateIsNull(row);
          {
            ValueScopes::Scope scope(c_.values());
            bind_or_null(row, missing);
            c_.consume(*this);
          }
          emit_advance(row, missing, at, more, matches);
        });
  }

  void emit_advance(llvm::Value* row, llvm::Value* missing, llvm::Value* at, llvm::Value* more,
                    const Matches& matches) {
    jit::TrackedBuilder& ir = c_.ir();
    ir.CreateStore(ir.getFalse(), more);
    if (join_.build_unique) return;
    emit_if(c_, ir.CreateNot(missing), [&] {
      llvm::Value* next = build_.emit_search(build_.emit_next(row), matches);
      llvm::Value* another = ir.CreateIsNotNull(next);
      if (join_.join == JoinKind::kSingle) {
        emit_if(c_, another, [&] { c_.call("weft_rt_fail_single", ir.getVoidTy(), {}); });
      } else {
        ir.CreateStore(next, at);
        ir.CreateStore(another, more);
      }
    });
  }

  void bind_or_null(llvm::Value* row, llvm::Value* missing) {
    jit::TrackedBuilder& ir = c_.ir();
    auto* type = llvm::ArrayType::get(ir.getInt64Ty(), layout_.size() / 8);
    auto* zeros =
        new llvm::GlobalVariable(c_.module().module(), type, true, llvm::GlobalValue::PrivateLinkage,
                                 llvm::Constant::getNullValue(type), "no_match");
    llvm::Value* readable = ir.CreateSelect(missing, zeros, row);
    for (const RowField& field : layout_.fields()) {
      c_.values().bind_lazy(field.iu, [this, field, readable, missing] {
        SqlValue value;
        c_.run_task(probe_task_, [&] {
          value = load_field(c_, readable, field);
          value.null = either_null(c_, missing, value.null);
        });
        return value;
      });
    }
  }

  // Preserved build side: all matches are marked, and passed on if the join is an outer one.
  void emit_mark_all(llvm::Value* chain, const Matches& matches) {
    for_each_row(chain, [&](llvm::Value* row) {
      emit_if(c_, matches(row), [&] {
        build_.emit_hit(row);
        if (join_.join == JoinKind::kOuter) emit_pair(row);
      });
    });
  }

  void emit_preserved(llvm::Value* row) {
    llvm::Value* hit = build_.emit_was_hit(row);
    llvm::Value* passes = join_.join == JoinKind::kSemi ? hit : c_.ir().CreateNot(hit);
    emit_if(c_, passes, [&] {
      bind_row(c_, scan_task_, layout_, row);
      for (const Iu* iu : join_.probe().outputs) c_.values().bind(iu, zero_value(c_, iu->width(), true));
      c_.consume(*this);
    });
  }

  const HashJoin& join_;
  RowLayout layout_;
  JoinBuild build_;
  ComponentId probe_task_ = 0;
  ComponentId build_task_ = 0;
  ComponentId scan_task_ = 0;
};

}  // namespace

std::unique_ptr<Translator> make_hash_join(Compilation& c, const Operator& op, Translator* parent,
                                           std::uint32_t input) {
  return std::make_unique<HashJoinTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
