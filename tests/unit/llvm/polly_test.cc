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
PluginInfo* Polly() {
  return reinterpret_cast<PluginInfo*>(dlsym(RTLD_DEFAULT, "_Z18getPollyPluginInfov"));
}

// As Optimise(), with Polly in LLVM's pipeline of O3.
void OptimiseWithPolly(SealedModule::State& sealed, llvm::TargetMachine& target, OptLevel,
                       ModuleLineage& lineage) {
  OptimiseWith(sealed, target, OptLevel::kO3, lineage,
               [](llvm::PassBuilder& builder) { Polly()().RegisterPassBuilderCallbacks(builder); });
}

TEST(Polly, TiledMatrixProduct) {
  if (Polly() == nullptr) GTEST_SKIP() << "SKIP: this libLLVM has no Polly";
  const auto option = llvm::cl::getRegisteredOptions().find("polly");
  ASSERT_NE(option, llvm::cl::getRegisteredOptions().end());
  static_cast<llvm::cl::opt<bool>*>(option->second)->setValue(true);
  constexpr std::uint64_t kSize = 512;
  // c[i][j] += a[i][k] * b[k][j]
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    auto* f64 = b.getDoubleTy();
    auto* row = llvm::ArrayType::get(f64, kSize);
    llvm::Function* f = Begin(m, {b.getPtrTy(), b.getPtrTy(), b.getPtrTy()}, b.getVoidTy());
    for (unsigned argument : {0u, 1u, 2u}) f->addParamAttr(argument, llvm::Attribute::NoAlias);
    auto at = [&](unsigned matrix, llvm::Value* i, llvm::Value* j) {
      return b.CreateInBoundsGEP(row, f->getArg(matrix), {i, j});
    };
    auto read = m.tasks().Enter(kRead);
    llvm::Value* size = b.getInt64(kSize);
    Loop(m, size, [&](llvm::Value* i) {
      Loop(m, size, [&](llvm::Value* j) {
        Loop(m, size, [&](llvm::Value* k) {
          llvm::Value* left = b.CreateLoad(f64, at(0, i, k));
          llvm::Value* right = b.CreateLoad(f64, at(1, k, j));
          auto probe = m.tasks().Enter(kProbe);
          llvm::Value* product = b.CreateFMul(left, right);
          auto sum = m.tasks().Enter(kSum);
          b.CreateStore(b.CreateFAdd(b.CreateLoad(f64, at(2, i, j)), product), at(2, i, j));
        });
      });
    });
    b.CreateRetVoid();
  };
  auto check = [](const Optimised& o) {
    // Jumps of loops that Polly made belong to the task that loops, or say that they are inferred.
    std::size_t jumps = 0;
    for (const llvm::Instruction* i : o.All(llvm::Instruction::Br)) {
      if (!i->getParent()->getName().str().starts_with("polly.")) continue;
      ++jumps;
      if (o.TasksOf(*i) != Tasks{kRead} && !o.Repaired(*i)) return false;
    }
    // Polly writes the stores anew: whose they are is inferred, and said to be.
    std::size_t sums = 0;
    for (const llvm::Instruction* i : o.All(llvm::Instruction::Store)) {
      sums += o.TasksOf(*i) == Tasks{kSum};
      if (o.TasksOf(*i) != Tasks{kSum} && !o.Repaired(*i)) return false;
    }
    return jumps > 0 && sums > 0 && o.AllBelongTo(llvm::Instruction::FMul, 0, {kProbe}) &&
           o.AllBelongTo(llvm::Instruction::FAdd, 0, {kSum});
  };
  auto native = [](const Optimised& o) {
    return o.ProbeOwns({"MULPD", "MULSD"}) && !o.NativeOwners({"ADDPD", "ADDSD"}).empty() &&
           o.NativeOwners({"ADDPD", "ADDSD"}) == std::set<Tasks>{{kSum}};
  };
  ExpectTracked(build, check, native, /*merges=*/false, OptLevel::kO3, &OptimiseWithPolly);
}

}  // namespace
}  // namespace tailor::jit
