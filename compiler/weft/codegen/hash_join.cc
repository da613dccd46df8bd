// Hash join of all kinds.
//
// Where the preserved side probes, a match is decided while probing. Where it is built, hits are marked in
// the rows of the table, and a scan over the table yields the preserved rows afterwards.
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
        build_(c, operation.id, join_.keys, layout_, BuildPreserved()) {
    build_.AddFields(join_.build().outputs);
  }

  void Produce() override {
    probe_task_ = c_.AddTask("Probe", "hash_probe");
    if (BuildPreserved()) scan_task_ = c_.AddTask("Scan table", "join_scan");
    build_task_ = c_.AddTask("Build", "hash_build");
    build_.GenerateBuild("join build", input(0), build_task_);
    if (!BuildPreserved()) return c_.Produce(input(1));
    bool probe_emits = join_.join == JoinKind::kOuter;
    if (!probe_emits) c_.BeginPipeline("join mark");
    c_.Produce(input(1));
    if (!probe_emits) c_.EndPipeline({});
    build_.GenerateScan(scan_task_, [&](llvm::Value* row) { EmitPreserved(row); });
  }

  void Consume(std::uint32_t input) override {
    if (input == 0) {
      build_.EmitInsert(BuildPreserved());
    } else {
      EmitProbe();
    }
  }

  ComponentId TaskOf(std::uint32_t input) const override { return input == 0 ? build_task_ : probe_task_; }

 private:
  bool BuildPreserved() const {
    return join_.join != JoinKind::kInner && join_.preserved == JoinSide::kBuild;
  }

  // Keys and residual, as i1.
  llvm::Value* EmitMatch(llvm::Value* row, llvm::Value* hash) {
    llvm::Value* equal = build_.EmitMatches(row, hash);
    if (join_.residual.empty()) return equal;
    return EmitChoice(
               c_, equal,
               [&] {
                 BindRow(c_, probe_task_, layout_, row);
                 return SqlValue{EmitAllTrue(c_, join_.residual)};
               },
               [&] { return SqlValue{c_.ir().getFalse()}; })
        .data;
  }

  void EmitProbe() {
    JoinBuild::Probe probe = build_.EmitProbeHash();
    llvm::Value* chain = build_.EmitChain(probe);
    auto matches = [&](llvm::Value* row) { return EmitMatch(row, probe.hash); };
    if (BuildPreserved()) return EmitMarkAll(chain, matches);
    switch (join_.join) {
      case JoinKind::kInner:
        return EmitInner(chain, matches);
      case JoinKind::kOuter:
      case JoinKind::kSingle:
        return EmitOuter(chain, matches);
      case JoinKind::kSemi:
      case JoinKind::kAnti:
      case JoinKind::kMark:
        return EmitExistence(build_.EmitSearch(chain, matches));
    }
  }

  using Matches = std::function<llvm::Value*(llvm::Value*)>;

  void EmitInner(llvm::Value* chain, const Matches& matches) {
    jit::TrackedBuilder& ir = c_.ir();
    if (join_.build_unique) {
      llvm::Value* row = build_.EmitSearch(chain, matches);
      return EmitIf(c_, ir.CreateIsNotNull(row), [&] { EmitPair(row); });
    }
    ForEachRow(chain, [&](llvm::Value* row) { EmitIf(c_, matches(row), [&] { EmitPair(row); }); });
  }

  void EmitPair(llvm::Value* row) {
    BindRow(c_, probe_task_, layout_, row);
    c_.Consume(*this);
  }

  void ForEachRow(llvm::Value* chain, const std::function<void(llvm::Value*)>& body) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::AllocaInst* at = c_.module().CreateEntryAlloca(ir.getPtrTy(), "chain");
    ir.CreateStore(chain, at);
    EmitWhile(
        c_, [&] { return ir.CreateIsNotNull(ir.CreateLoad(ir.getPtrTy(), at)); },
        [&] {
          llvm::Value* row = ir.CreateLoad(ir.getPtrTy(), at);
          body(row);
          ir.CreateStore(build_.EmitNext(row), at);
        });
  }

  void EmitExistence(llvm::Value* found) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::Value* exists = ir.CreateIsNotNull(found);
    if (join_.join == JoinKind::kMark) {
      c_.values().Bind(join_.mark, {exists, nullptr, nullptr});
      return c_.Consume(*this);
    }
    if (join_.join == JoinKind::kAnti) exists = ir.CreateNot(exists);
    EmitIf(c_, exists, [&] { c_.Consume(*this); });
  }

  // Every probe tuple once for each of its matches, at least once: then with nulls. The consumer's code is
  // generated once; where there is no match it reads a row of zeros and every value is null.
  void EmitOuter(llvm::Value* chain, const Matches& matches) {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::AllocaInst* at = c_.module().CreateEntryAlloca(ir.getPtrTy(), "outer");
    llvm::AllocaInst* more = c_.module().CreateEntryAlloca(ir.getInt1Ty(), "more");
    ir.CreateStore(build_.EmitSearch(chain, matches), at);
    ir.CreateStore(ir.getTrue(), more);
    EmitWhile(
        c_, [&] { return ir.CreateLoad(ir.getInt1Ty(), more); },
        [&] {
          llvm::Value* row = ir.CreateLoad(ir.getPtrTy(), at);
          llvm::Value* missing = ir.CreateIsNull(row);
          {
            ValueScopes::Scope scope(c_.values());
            BindOrNull(row, missing);
            c_.Consume(*this);
          }
          EmitAdvance(row, missing, at, more, matches);
        });
  }

  void EmitAdvance(llvm::Value* row, llvm::Value* missing, llvm::Value* at, llvm::Value* more,
                   const Matches& matches) {
    jit::TrackedBuilder& ir = c_.ir();
    ir.CreateStore(ir.getFalse(), more);
    if (join_.build_unique) return;
    EmitIf(c_, ir.CreateNot(missing), [&] {
      llvm::Value* next = build_.EmitSearch(build_.EmitNext(row), matches);
      llvm::Value* another = ir.CreateIsNotNull(next);
      if (join_.join == JoinKind::kSingle) {
        EmitIf(c_, another, [&] { c_.Call("weft_rt_fail_single", ir.getVoidTy(), {}); });
      } else {
        ir.CreateStore(next, at);
        ir.CreateStore(another, more);
      }
    });
  }

  void BindOrNull(llvm::Value* row, llvm::Value* missing) {
    jit::TrackedBuilder& ir = c_.ir();
    auto* type = llvm::ArrayType::get(ir.getInt64Ty(), layout_.size() / 8);
    auto* zeros =
        new llvm::GlobalVariable(c_.module().module(), type, true, llvm::GlobalValue::PrivateLinkage,
                                 llvm::Constant::getNullValue(type), "no_match");
    llvm::Value* readable = ir.CreateSelect(missing, zeros, row);
    for (const RowField& field : layout_.fields()) {
      c_.values().BindLazy(field.iu, [this, field, readable, missing] {
        SqlValue value;
        c_.RunTask(probe_task_, [&] {
          value = LoadField(c_, readable, field);
          value.null = EitherNull(c_, missing, value.null);
        });
        return value;
      });
    }
  }

  // Preserved build side: all matches are marked, and passed on if the join is an outer one.
  void EmitMarkAll(llvm::Value* chain, const Matches& matches) {
    ForEachRow(chain, [&](llvm::Value* row) {
      EmitIf(c_, matches(row), [&] {
        build_.EmitHit(row);
        if (join_.join == JoinKind::kOuter) EmitPair(row);
      });
    });
  }

  void EmitPreserved(llvm::Value* row) {
    llvm::Value* hit = build_.EmitWasHit(row);
    llvm::Value* passes = join_.join == JoinKind::kSemi ? hit : c_.ir().CreateNot(hit);
    EmitIf(c_, passes, [&] {
      BindRow(c_, scan_task_, layout_, row);
      for (const Iu* iu : join_.probe().outputs) c_.values().Bind(iu, ZeroValue(c_, iu->width(), true));
      c_.Consume(*this);
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

std::unique_ptr<Translator> MakeHashJoin(Compilation& c, const Operator& op, Translator* parent,
                                         std::uint32_t input) {
  return std::make_unique<HashJoinTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
