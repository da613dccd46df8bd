// What the tests of Table 1 are made of: a query that is optimised and compiled, whole and as its broken
// twins, and questions about who owns its instructions.
#pragma once

#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/raw_ostream.h>

#include <set>
#include <sstream>
#include <stdexcept>

#include "compiler/llvm/line_code.h"
#include "compiler/llvm/llvm_api.h"
#include "compiler/llvm/object_compiler.h"
#include "compiler/llvm/optimizer.h"
#include "compiler/llvm/target_pool.h"
#include "tests/support/native_code.h"
#include "tests/unit/llvm/query_fixture.h"

namespace tailor::jit {

using Tasks = std::set<ComponentId>;
using Build = std::function<void(QueryModule&)>;
using Optimiser = decltype(&optimise);

inline constexpr ComponentId kRead = 1, kProbe = 2, kBuild = 3, kSum = 4;

// An optimised module and what is known of its instructions.
class Optimised {
 public:
  enum class Twin { kNone, kTasksSwapped, kReplacementsIgnored };

  Optimised(const Build& build, Twin twin, OptLevel level = OptLevel::kO2, Optimiser optimiser = &optimise) {
    for (int i = 0; i < 4; ++i) plan_.add(0, {.name = "op"});
    for (ComponentId i = 1; i <= 4; ++i) plan_.add(1, {.name = "task"}, {&i, 1});
    QueryModule module(plan_, {.name = "table1"});
    build(module);
    auto sealed = module.seal();
    if (!sealed) throw std::runtime_error(sealed.error().message);
    sealed_ = std::make_unique<SealedModule>(std::move(*sealed));
    swapped_ = twin == Twin::kTasksSwapped;
    // Without lineage nobody listens, and LLVM's own care for locations is all there is.
    sealed_->state().lineage = twin != Twin::kReplacementsIgnored;
    auto pool = std::move(*TargetPool::create());
    target_ = std::move(*pool->take(level));
    sealed_->state().module->setDataLayout(pool->layout());
    set_triple(*sealed_->state().module, *target_);
    optimiser(sealed_->state(), *target_, level, lineage_);
  }

  // Goes on to machine code, with lineage in every twin.
  void emit() {
    sealed_->state().lineage = true;
    auto compiled = compile_object(sealed_->state(), *target_, lineage_);
    if (!compiled) throw std::runtime_error(compiled.error().message);
    auto object = llvm::object::ObjectFile::createObjectFile(compiled->object->getMemBufferRef());
    if (!object) throw std::runtime_error(llvm::toString(object.takeError()));
    std::string text;
    for (const llvm::object::SectionRef& section : (*object)->sections()) {
      if (section.isText() && section.getSize() > 0) text = llvm::cantFail(section.getContents()).str();
    }
    const auto& rows = compiled->rows.rows();
    std::size_t row = 0;
    for (const NativeInstruction& native : take_apart(text)) {
      while (row + 1 < rows.size() && rows[row + 1].offset <= native.offset) ++row;
      std::vector<ComponentId> ids;
      compiled->rows.pool().expand(rows[row].link, ids);
      const bool frame = native.moves_stack || rows[row].flag == tagging::RowFlag::kPrologue;
      if (!frame && native.text.find("NOOP") == std::string::npos) native_.push_back({native, tasks_of(ids)});
    }
  }

  // The owners of all machine instructions whose name has one of `names` in it, each set of tasks once.
  std::set<Tasks> native_owners(const std::vector<std::string>& names) const {
    std::set<Tasks> owners;
    for (const auto& [native, tasks] : native_) {
      for (const std::string& name : names) {
        if (native.text.find(name) != std::string::npos) owners.insert(tasks);
      }
    }
    return owners;
  }
  // One line for each machine instruction: its name, and the tasks that own it.
  std::string native_text() const {
    std::string text;
    for (const auto& [native, tasks] : native_) {
      text += native.text;
      for (ComponentId task : tasks) text += " " + std::to_string(task);
      text += '\n';
    }
    return text;
  }
  // Whether there are such instructions, and all belong to probe, together with read where its load went
  // into them.
  bool probe_owns(const std::vector<std::string>& names) const {
    const auto owners = native_owners(names);
    return !owners.empty() && std::all_of(owners.begin(), owners.end(), [](const Tasks& tasks) {
      return tasks == Tasks{kProbe} || tasks == Tasks{kRead, kProbe};
    });
  }
  std::set<Tasks> native_owners_of_stores() const {
    std::set<Tasks> owners;
    for (const auto& [native, tasks] : native_) {
      if (native.stores) owners.insert(tasks);
    }
    return owners;
  }

  std::vector<const llvm::Instruction*> all(unsigned opcode) const {
    std::vector<const llvm::Instruction*> out;
    for (const llvm::Function& function : *sealed_->state().module) {
      for (const llvm::Instruction& i : llvm::instructions(function)) {
        if (i.getOpcode() == opcode) out.push_back(&i);
      }
    }
    return out;
  }

  // Whether its owners were inferred and not recorded.
  bool repaired(const llvm::Instruction& instruction) const {
    return lineage_of(instruction.getDebugLoc()).repaired;
  }
  Tasks tasks_of(const llvm::Instruction& instruction) const {
    std::vector<ComponentId> ids;
    lineage_.sets.expand(lineage_of(instruction.getDebugLoc()).link, ids);
    return tasks_of(ids);
  }
  Tasks tasks_of(const std::vector<ComponentId>& ids) const {
    Tasks tasks;
    for (ComponentId id : ids) {
      for (ComponentId task : plan_.owners(2, id)) tasks.insert(swapped_ ? 1 + task % 4 : task);
    }
    return tasks;
  }

  // Whether there are instructions of `opcode`, `count` of them unless 0, and all belong to `tasks`.
  bool all_belong_to(unsigned opcode, std::size_t count, const Tasks& tasks) const {
    auto found = all(opcode);
    return !found.empty() && (count == 0 || found.size() == count) &&
           std::all_of(found.begin(), found.end(), [&](const auto* i) { return tasks_of(*i) == tasks; });
  }
  // Whether each block has as many instructions of each of these kinds as of the others.
  bool together(const std::vector<unsigned>& opcodes) const {
    std::map<const llvm::BasicBlock*, std::map<unsigned, int>> counts;
    for (unsigned opcode : opcodes) {
      for (const llvm::Instruction* i : all(opcode)) ++counts[i->getParent()][opcode];
    }
    return std::all_of(counts.begin(), counts.end(), [&](const auto& block) {
      return block.second.size() == opcodes.size() &&
             std::all_of(block.second.begin(), block.second.end(),
                         [&](const auto& each) { return each.second == block.second.begin()->second; });
    });
  }
  Tasks tasks_with_code() const {
    Tasks tasks;
    for (const llvm::Function& function : *sealed_->state().module) {
      for (const llvm::Instruction& i : llvm::instructions(function)) tasks.merge(tasks_of(i));
    }
    return tasks;
  }
  std::string text() const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    sealed_->state().module->print(stream, nullptr);
    return stream.str();
  }

 private:
  tagging::DictionaryBuilder plan_{"table1", {"operator", "task", "ir"}};
  std::unique_ptr<SealedModule> sealed_;
  std::unique_ptr<llvm::TargetMachine> target_;
  ModuleLineage lineage_;
  std::vector<std::pair<NativeInstruction, Tasks>> native_;
  bool swapped_ = false;
};

using Check = std::function<bool(const Optimised&)>;
using Twin = Optimised::Twin;

// `check` holds for what `build` makes, and `native` for its machine code; neither holds for a twin.
inline void expect_tracked(const Build& build, const Check& check, const Check& native, bool merges,
                           OptLevel level = OptLevel::kO2, Optimiser optimiser = &optimise) {
  Optimised real(build, Twin::kNone, level, optimiser);
  EXPECT_TRUE(check(real)) << real.text();
  real.emit();
  EXPECT_TRUE(native(real)) << real.native_text();
  for (Twin twin : {Twin::kTasksSwapped, Twin::kReplacementsIgnored}) {
    if (twin == Twin::kReplacementsIgnored && !merges) continue;
    const char* what = twin == Twin::kTasksSwapped ? "swapped owners" : "replacements that nobody follows";
    Optimised broken(build, twin, level, optimiser);
    EXPECT_FALSE(check(broken)) << "the check would not notice " << what;
    broken.emit();
    EXPECT_FALSE(native(broken)) << "the check of the machine code would not notice " << what;
  }
}

inline llvm::Function* begin(QueryModule& module, std::vector<llvm::Type*> arguments,
                             llvm::Type* result = nullptr) {
  auto* type =
      llvm::FunctionType::get(result != nullptr ? result : module.builder().getInt64Ty(), arguments, false);
  return module.begin_function("f", type);
}

// Calls `body(i)` to generate the body of a loop from 0 to `n`, whose control belongs to the active task.
inline void loop(QueryModule& module, llvm::Value* n, const std::function<void(llvm::Value*)>& body) {
  TrackedBuilder& b = module.builder();
  llvm::Function* f = b.GetInsertBlock()->getParent();
  auto* before = b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(module.context(), "loop", f);
  auto* done = llvm::BasicBlock::Create(module.context(), "done", f);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  auto* i = b.CreatePHI(b.getInt64Ty(), 2, "i");
  body(i);
  auto* next = b.CreateAdd(i, b.getInt64(1), "next", true, true);
  b.CreateCondBr(b.CreateICmpULT(next, n), loop, done);
  i->addIncoming(b.getInt64(0), before);
  i->addIncoming(next, b.GetInsertBlock());
  b.SetInsertPoint(done);
}

inline llvm::Value* element_of(TrackedBuilder& b, llvm::Type* type, llvm::Value* base, llvm::Value* i) {
  return b.CreateInBoundsGEP(type, base, {i});
}

// Line `id` of the plan's listing.
inline std::string line_of(const tagging::DictionaryBuilder& plan, ComponentId id) {
  std::istringstream listing(plan.build({}).attachments(0).content());
  std::string line;
  for (ComponentId i = 0; i < id; ++i) std::getline(listing, line);
  return line;
}

}  // namespace tailor::jit
