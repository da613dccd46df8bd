#include "tests/unit/llvm/engine_query.h"

#include <gtest/gtest.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/SectionMemoryManager.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>

namespace tailor::jit {

namespace orc = llvm::orc;

std::uint64_t tag_seen = 0;

extern "C" std::int64_t engine_lineage_shared(std::int64_t x) {
  asm volatile("mov %%r15, %0" : "=r"(tag_seen));
  return x ^ 0x55;
}

tagging::DictionaryBuilder new_plan() {
  tagging::DictionaryBuilder plan("test", {"operator", "task", "ir"});
  for (const char* name : {"scan", "join", "aggregate"}) plan.add(0, {.name = name});
  const ComponentId operators[] = {1, 2, 2, 3};
  const char* tasks[] = {"read", "probe", "build", "sum"};
  for (int i = 0; i < 4; ++i) plan.add(1, {.name = tasks[i]}, {&operators[i], 1});
  return plan;
}

llvm::Function* new_function(llvm::Module& module, const std::string& name) {
  llvm::LLVMContext& context = module.getContext();
  auto* i64 = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(i64, {llvm::PointerType::getUnqual(context), i64}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  function->setUWTableKind(llvm::UWTableKind::Async);
  function->addFnAttr("frame-pointer", "all");
  function->addFnAttr("disable-tail-calls", "true");
  return function;
}

std::int64_t expected_work(const std::vector<std::int64_t>& numbers) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto product = numbers[i] * static_cast<std::int64_t>(i);
    total += product + (product ^ 0x55);
  }
  return total;
}

std::unique_ptr<Built> build(bool tracked) {
  auto built = std::make_unique<Built>();
  llvm::Function* function = new_function(*built->module, "work");
  llvm::IRBuilder<llvm::ConstantFolder, EngineInserter> b(
      *built->context, llvm::ConstantFolder(), tracked ? built->lineage->inserter() : EngineInserter());
  b.SetInsertPoint(llvm::BasicBlock::Create(*built->context, "entry", function));
  build_work(b, function, built->shared(),
             [&](ComponentId task) { return built->lineage->tasks().enter(task); });
  EXPECT_TRUE(built->lineage->begin(*built->module).ok());
  return built;
}

std::unique_ptr<Built> build_with_locations(Status& begun, unsigned add) {
  auto built = std::make_unique<Built>();
  llvm::Function* function = new_function(*built->module, "work");
  llvm::DIBuilder debug(*built->module);
  auto* file = debug.createFile("tasks", "");
  debug.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "", false, "", 0);
  auto* type = debug.createSubroutineType(debug.getOrCreateTypeArray({}));
  auto* scope = debug.createFunction(file, "work", "work", file, 1, type, 1, llvm::DINode::FlagZero,
                                     llvm::DISubprogram::SPFlagDefinition);
  function->setSubprogram(scope);
  llvm::IRBuilder<> b(*built->context);
  b.SetInsertPoint(llvm::BasicBlock::Create(*built->context, "entry", function));
  struct Located {
    llvm::IRBuilder<>& b;
    llvm::DebugLoc before;
    ~Located() { b.SetCurrentDebugLocation(before); }
  };
  build_work(b, function, built->shared(), [&](ComponentId task) {
    const llvm::DebugLoc before = b.getCurrentDebugLocation();
    b.SetCurrentDebugLocation(llvm::DILocation::get(*built->context, task + add, 0, scope));
    return Located{b, before};
  });
  debug.finalize();
  begun = built->lineage->begin_from_locations(*built->module);
  return built;
}

void optimise(Built& built, bool observed) {
  llvm::InitializeNativeTarget();
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassInstrumentationCallbacks callbacks;
  auto target =
      llvm::cantFail(llvm::cantFail(orc::JITTargetMachineBuilder::detectHost()).createTargetMachine());
  llvm::PassBuilder builder(target.get(), {}, {}, &callbacks);
  if (observed) {
    EXPECT_TRUE(built.lineage->observe(builder).ok());
  }
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1).run(*built.module, modules);
}

std::unique_ptr<orc::LLJIT> new_jit(EngineLineage& lineage, bool rtdyld) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  orc::LLJITBuilder builder;
  builder.setCompileFunctionCreator(
      [&](orc::JITTargetMachineBuilder target) { return lineage.make_compiler(std::move(target)); });
  if (rtdyld) {
    builder.setObjectLinkingLayerCreator([](orc::ExecutionSession& session, auto&&...) {
      return std::make_unique<orc::RTDyldObjectLinkingLayer>(
          session, [](auto&&...) { return std::make_unique<llvm::SectionMemoryManager>(); });
    });
  }
  auto jit = llvm::cantFail(builder.create());
  EXPECT_TRUE(lineage.listen_to(jit->getObjLinkingLayer()).ok());
  jit->getMainJITDylib().addGenerator(
      llvm::cantFail(orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0')));
  return jit;
}

void run_work(orc::LLJIT& jit) {
  const std::vector<std::int64_t> numbers = {3, -5, 7, 11};
  auto* work = llvm::cantFail(jit.lookup("work")).toPtr<Worked*>();
  EXPECT_EQ(work(numbers.data(), 4), expected_work(numbers));
}

void run(Built& built, EngineLineage& lineage, orc::LLJIT& jit) {
  ASSERT_TRUE(lineage.add(built.lineage, kPlan).ok());
  llvm::cantFail(jit.addIRModule(orc::ThreadSafeModule(std::move(built.module), std::move(built.context))));
  run_work(jit);
}

std::ostream& operator<<(std::ostream& out, const OwnedRow& row) {
  out << row.offset << " flag " << int(row.flag) << " tasks";
  for (ComponentId task : row.tasks) out << ' ' << task;
  return out;
}

std::vector<OwnedRow> owned_rows(const tailor::v1::RowTable& table, const tagging::DictionaryBuilder& plan) {
  std::vector<OwnedRow> out;
  auto rows = tagging::decode_rows(table);
  EXPECT_TRUE(rows.ok());
  for (const tagging::Row& row : *rows) {
    std::set<ComponentId> tasks;
    std::vector<ComponentId> ids;
    if (row.link.is_set()) {
      for (const auto id : table.link_sets(static_cast<int>(row.link.index())).ids()) ids.push_back(id);
    } else if (!row.link.none()) {
      ids.push_back(row.link.index());
    }
    for (ComponentId id : ids) {
      for (ComponentId task : plan.owners(2, id)) tasks.insert(task);
    }
    out.push_back({row.offset, {tasks.begin(), tasks.end()}, row.flag});
  }
  return out;
}

std::set<ComponentId> all_tasks(const std::vector<OwnedRow>& rows) {
  std::set<ComponentId> tasks;
  for (const OwnedRow& row : rows) tasks.insert(row.tasks.begin(), row.tasks.end());
  return tasks;
}

bool share_the_product(const std::vector<OwnedRow>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const OwnedRow& row) {
    return std::count(row.tasks.begin(), row.tasks.end(), kProbe) +
               std::count(row.tasks.begin(), row.tasks.end(), kSum) ==
           2;
  });
}

std::map<std::vector<ComponentId>, double> parts_of_code(const std::vector<OwnedRow>& rows) {
  std::map<std::vector<ComponentId>, double> parts;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i)
    parts[rows[i].tasks] += rows[i + 1].offset - rows[i].offset;
  for (auto& [tasks, part] : parts) part /= rows.back().offset;
  return parts;
}

}  // namespace tailor::jit
