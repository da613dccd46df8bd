// A small query as an engine with a builder, passes and a JIT of its own compiles it, for the tests of its
// lineage.
#pragma once

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/llvm/engine_lineage.h"
#include "compiler/tagging/dictionary_builder.h"
#include "compiler/tagging/row_table_builder.h"

namespace tailor::jit {

inline constexpr ComponentId kRead = 1, kProbe = 2, kBuild = 3, kSum = 4;
inline constexpr PlanId kPlan = 7;
using Worked = std::int64_t(const std::int64_t*, std::int64_t);

// The engine's shared function, and the tag in r15 at its last call.
extern "C" std::int64_t engine_lineage_shared(std::int64_t x);
extern std::uint64_t tag_seen;

tagging::DictionaryBuilder new_plan();

// What QueryModule::begin_function() gives a function.
llvm::Function* new_function(llvm::Module& module, const std::string& name);

// int64_t work(const int64_t* numbers, int64_t count): a loop with three tasks; probe and sum compute the
// same product. `enter` makes a task active until what it returns is destroyed.
template <typename Builder, typename Enter>
void build_work(Builder& b, llvm::Function* function, llvm::FunctionCallee shared, const Enter& enter) {
  auto* i64 = b.getInt64Ty();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, function); };
  auto *head = block("head"), *body = block("body"), *done = block("done");
  auto* entry = b.GetInsertBlock();
  auto read = enter(kRead);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  auto* i = b.CreatePHI(i64, 2);
  auto* total = b.CreatePHI(i64, 2);
  b.CreateCondBr(b.CreateICmpSLT(i, function->getArg(1)), body, done);
  b.SetInsertPoint(body);
  auto* n = b.CreateLoad(i64, b.CreateGEP(i64, function->getArg(0), i));
  llvm::Value *probed = nullptr, *added = nullptr;
  {
    auto probe = enter(kProbe);
    probed = b.CreateCall(shared, {b.CreateMul(n, i)});
  }
  {
    auto sum = enter(kSum);
    added = b.CreateAdd(total, b.CreateAdd(b.CreateMul(n, i), probed));
  }
  i->addIncoming(b.getInt64(0), entry);
  i->addIncoming(b.CreateAdd(i, b.getInt64(1)), body);
  total->addIncoming(b.getInt64(0), entry);
  total->addIncoming(added, body);
  b.CreateBr(head);
  b.SetInsertPoint(done);
  b.CreateRet(total);
}

std::int64_t expected_work(const std::vector<std::int64_t>& numbers);

// A module as an engine builds it, with what keeps it alive.
struct Built {
  tagging::DictionaryBuilder plan = new_plan();
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module = std::make_unique<llvm::Module>("engine", *context);
  std::shared_ptr<EngineModule> lineage;

  explicit Built(EngineModuleOptions options = {})
      : lineage(std::make_shared<EngineModule>(plan, std::move(options))) {}
  llvm::FunctionCallee shared() {
    auto* i64 = llvm::Type::getInt64Ty(*context);
    return module->getOrInsertFunction("engine_lineage_shared", i64, i64);
  }
};

// By the inserter.
std::unique_ptr<Built> build(bool tracked = true);
// By debug locations that the engine sets: the line is the task.
std::unique_ptr<Built> build_with_locations(Status& begun, unsigned add = 0);

void optimise(Built& built, bool observed = true);

struct Told {
  std::vector<LoadedObject> loaded;
  std::vector<CodeId> removed;
  std::vector<EngineObject> compiled;

  EngineEvents events() {
    return {.loaded =
                [this](const LoadedObject& object) {
                  loaded.push_back(object);
                  return static_cast<CodeId>(loaded.size());
                },
            .removed = [this](CodeId id) { removed.push_back(id); },
            .compiled =
                [this](const EngineObject& object) {
                  compiled.push_back({llvm::MemoryBuffer::getMemBufferCopy(
                                          object.object->getBuffer(), object.object->getBufferIdentifier()),
                                      object.lineage});
                }};
  }
};

std::unique_ptr<llvm::orc::LLJIT> new_jit(EngineLineage& lineage, bool rtdyld = false);
void run_work(llvm::orc::LLJIT& jit);
// Compiles and runs it in a stock LLJIT.
void run(Built& built, EngineLineage& lineage, llvm::orc::LLJIT& jit);

// The tasks of every row, in order, with its flag.
struct OwnedRow {
  std::uint32_t offset;
  std::vector<ComponentId> tasks;
  tagging::RowFlag flag;
  bool operator==(const OwnedRow&) const = default;
};
std::ostream& operator<<(std::ostream& out, const OwnedRow& row);

std::vector<OwnedRow> owned_rows(const tailor::v1::RowTable& table, const tagging::DictionaryBuilder& plan);
std::set<ComponentId> all_tasks(const std::vector<OwnedRow>& rows);
// Whether probe and sum share some code: the product, which both need, is computed once.
bool share_the_product(const std::vector<OwnedRow>& rows);
// Bytes of code by owners, as parts of all. The last row ends where the code does; its length is left out.
std::map<std::vector<ComponentId>, double> parts_of_code(const std::vector<OwnedRow>& rows);

}  // namespace tailor::jit
