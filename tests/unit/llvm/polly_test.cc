// Polyhedral optimisation by Polly, which Debian's libLLVM contains and LLVM's default pipeline does not run:
// an engine that asks for it gets lineage too. A matrix product is tiled: loops that Polly makes, with the
// work of two tasks in them. Skipped where libLLVM has no Polly.
#include <dlfcn.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/CommandLine.h>

#include "tests/unit/llvm/optimised_query.h"

namespace tailor::jit {
namespace {

using PluginInfo = llvm::PassPluginLibraryInfo();

// llvm::PassPluginLibraryInfo getPollyPluginInfo(), which no header declares.
PluginInfo* polly() {
  return reinterpret_cast<PluginInfo*>(dlsym(RTLD_DEFAULT, "_Z18getPollyPluginInfov"));
}

// As optimise(), with Polly in LLVM's pipeline of O3.
void optimise_with_polly(SealedModule::State& sealed, llvm::TargetMachine& target, OptLevel,
                         ModuleLineage& lineage) {
  optimise_with(sealed, target, OptLevel::kO3, lineage,
                [](llvm::PassBuilder& builder) { polly()().RegisterPassBuilderCallbacks(builder); });
}

TEST(Polly, TiledMatrixProduct) {
  if (polly() == nullptr) GTEST_SKIP() << "SKIP: this libLLVM has no Polly";
  const auto option = llvm::cl::getRegisteredOptions().find("polly");
  ASSERT_NE(option, llvm::cl::getRegisteredOptions().end());
  static_cast<llvm::cl::opt<bool>*>(option->second)->setValue(true);
  constexpr std::uint64_t kSize = 512;
  // c[i][j] += a[i][k] * b[k][j]
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    auto* f64 = b.getDoubleTy();
    auto* row = llvm::ArrayType::get(f64, kSize);
    llvm::Function* f = begin(m, {b.getPtrTy(), b.getPtrTy(), b.getPtrTy()}, b.getVoidTy());
    for (unsigned argument : {0u, 1u, 2u}) f->addParamAttr(argument, llvm::Attribute::NoAlias);
    auto at = [&](unsigned matrix, llvm::Value* i, llvm::Value* j) {
      return b.CreateInBoundsGEP(row, f->getArg(matrix), {i, j});
    };
    auto read = m.tasks().enter(kRead);
    llvm::Value* size = b.getInt64(kSize);
    loop(m, size, [&](llvm::Value* i) {
      loop(m, size, [&](llvm::Value* j) {
        loop(m, size, [&](llvm::Value* k) {
          llvm::Value* left = b.CreateLoad(f64, at(0, i, k));
          llvm::Value* right = b.CreateLoad(f64, at(1, k, j));
          auto probe = m.tasks().enter(kProbe);
          llvm::Value* product = b.CreateFMul(left, right);
          auto sum = m.tasks().enter(kSum);
          b.CreateStore(b.CreateFAdd(b.CreateLoad(f64, at(2, i, j)), product), at(2, i, j));
        });
      });
    });
    b.CreateRetVoid();
  };
  auto check = [](const Optimised& o) {
    // Jumps of loops that Polly made belong to the task that loops, or say that they are inferred.
    std::size_t jumps = 0;
    for (const llvm::Instruction* i : o.all(llvm::Instruction::Br)) {
      if (!i->getParent()->getName().str().starts_with("polly.")) continue;
      ++jumps;
      if (o.tasks_of(*i) != Tasks{kRead} && !o.repaired(*i)) return false;
    }
    // Polly writes the stores anew: whose they are is inferred, and said to be.
    std::size_t sums = 0;
    for (const llvm::Instruction* i : o.all(llvm::Instruction::Store)) {
      sums += o.tasks_of(*i) == Tasks{kSum};
      if (o.tasks_of(*i) != Tasks{kSum} && !o.repaired(*i)) return false;
    }
    return jumps > 0 && sums > 0 && o.all_belong_to(llvm::Instruction::FMul, 0, {kProbe}) &&
           o.all_belong_to(llvm::Instruction::FAdd, 0, {kSum});
  };
  auto native = [](const Optimised& o) {
    return o.probe_owns({"MULPD", "MULSD"}) && !o.native_owners({"ADDPD", "ADDSD"}).empty() &&
           o.native_owners({"ADDPD", "ADDSD"}) == std::set<Tasks>{{kSum}};
  };
  expect_tracked(build, check, native, /*merges=*/false, OptLevel::kO3, &optimise_with_polly);
}

}  // namespace
}  // namespace tailor::jit
