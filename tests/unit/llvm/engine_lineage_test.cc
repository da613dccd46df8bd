// Lineage for engines that have a builder, passes and a JIT of their own, against the same code by
// QueryModule and Jit.
#include "compiler/llvm/engine_lineage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/ExecutionEngine/ExecutionEngine.h>
#include <llvm/ExecutionEngine/MCJIT.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/SectionMemoryManager.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <cstring>
#include <map>
#include <set>

#include "compiler/llvm/tag_code.h"
#include "compiler/tagging/row_table_builder.h"
#include "tests/unit/llvm/query_fixture.h"

namespace tailor::jit {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

namespace orc = llvm::orc;

constexpr ComponentId kRead = 1, kProbe = 2, kBuild = 3, kSum = 4;
constexpr PlanId kPlan = 7;
using Worked = std::int64_t(const std::int64_t*, std::int64_t);

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

// What QueryModule::begin_function() gives a function.
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

std::int64_t expected_work(const std::vector<std::int64_t>& numbers) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto product = numbers[i] * static_cast<std::int64_t>(i);
    total += product + (product ^ 0x55);
  }
  return total;
}

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
std::unique_ptr<Built> build(bool tracked = true) {
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

// By debug locations that the engine sets: the line is the task.
std::unique_ptr<Built> build_with_locations(Status& begun, unsigned add = 0) {
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

void optimise(Built& built, bool observed = true) {
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

std::unique_ptr<orc::LLJIT> new_jit(EngineLineage& lineage, bool rtdyld = false) {
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

// Compiles and runs it in a stock LLJIT.
void run(Built& built, EngineLineage& lineage, orc::LLJIT& jit) {
  ASSERT_TRUE(lineage.add(built.lineage, kPlan).ok());
  llvm::cantFail(jit.addIRModule(orc::ThreadSafeModule(std::move(built.module), std::move(built.context))));
  run_work(jit);
}

// The tasks of every row, in order, with its flag.
struct OwnedRow {
  std::uint32_t offset;
  std::vector<ComponentId> tasks;
  tagging::RowFlag flag;
  bool operator==(const OwnedRow&) const = default;
};
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

// Whether probe and sum share some code: the product, which both need, is computed once.
bool share_the_product(const std::vector<OwnedRow>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const OwnedRow& row) {
    return std::count(row.tasks.begin(), row.tasks.end(), kProbe) +
               std::count(row.tasks.begin(), row.tasks.end(), kSum) ==
           2;
  });
}

// Bytes of code by owners, as parts of all. The last row ends where the code does; its length is left out.
std::map<std::vector<ComponentId>, double> parts_of_code(const std::vector<OwnedRow>& rows) {
  std::map<std::vector<ComponentId>, double> parts;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i)
    parts[rows[i].tasks] += rows[i + 1].offset - rows[i].offset;
  for (auto& [tasks, part] : parts) part /= rows.back().offset;
  return parts;
}

TEST(EngineLineageTest, AStockLlJitHasTheRowsOfOurs) {
  Told told;
  EngineLineage lineage(told.events());
  std::vector<OwnedRow> rows;
  {
    auto jit = new_jit(lineage);
    auto built = build();
    optimise(*built);
    run(*built, lineage, *jit);
    ASSERT_THAT(told.loaded, SizeIs(1));
    const LoadedObject& object = told.loaded[0];
    EXPECT_EQ(object.plan, kPlan);
    ASSERT_THAT(object.loaded.functions, SizeIs(1));
    EXPECT_EQ(object.loaded.functions[0].name, "work");
    EXPECT_EQ(std::memcmp(object.loaded.code.data(), reinterpret_cast<void*>(object.loaded.base),
                          object.loaded.code.size()),
              0);
    EXPECT_FALSE(object.loaded.eh_frame.empty());
    tailor::v1::CodeObject code;
    ASSERT_TRUE(code.ParseFromString(object.code_object(3, "own")));
    EXPECT_EQ(code.id(), 3u);
    EXPECT_EQ(code.plan_id(), kPlan);
    EXPECT_EQ(code.tier(), "own");
    rows = owned_rows(code.rows(), built->plan);
    EXPECT_THAT(told.removed, IsEmpty());
  }
  EXPECT_THAT(told.removed, ElementsAre(1));
  EXPECT_THAT(all_tasks(rows), UnorderedElementsAre(kRead, kProbe, kSum));
  EXPECT_TRUE(share_the_product(rows));

  // The same by our own module and JIT.
  tagging::DictionaryBuilder plan = new_plan();
  QueryModule module(plan, {.name = "engine"});
  auto* function = new_function(module.module(), "work");
  module.builder().SetInsertPoint(llvm::BasicBlock::Create(module.context(), "entry", function));
  auto* i64 = llvm::Type::getInt64Ty(module.context());
  build_work(module.builder(), function,
             module.module().getOrInsertFunction("engine_lineage_shared", i64, i64),
             [&](ComponentId task) { return module.tasks().enter(task); });
  auto sealed = module.seal();
  ASSERT_TRUE(sealed.ok());
  auto jit = std::move(*Jit::create());
  auto code = jit->compile(std::move(*sealed), {.level = OptLevel::kO1});
  ASSERT_TRUE(code.ok());
  // Two pipelines choose other instructions here and there, and another order of neighbours.
  const auto own = parts_of_code(rows), ours = parts_of_code(owned_rows((*code)->rows().build(), plan));
  for (const auto& [tasks, part] : ours) {
    ASSERT_TRUE(own.contains(tasks));
    EXPECT_NEAR(own.at(tasks), part, 0.1);
  }
  EXPECT_EQ(own.size(), ours.size());
}

TEST(EngineLineageTest, WithoutAnInserterNothingIsOwned) {
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage);
  auto built = build(false);
  optimise(*built);
  run(*built, lineage, *jit);
  ASSERT_THAT(told.loaded, SizeIs(1));
  EXPECT_THAT(all_tasks(owned_rows(told.loaded[0].rows, built->plan)), IsEmpty());
}

TEST(EngineLineageTest, WhatIsNotObservedIsKnownLessWell) {
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage);
  auto built = build();
  optimise(*built, false);
  run(*built, lineage, *jit);
  ASSERT_THAT(told.loaded, SizeIs(1));
  EXPECT_FALSE(share_the_product(owned_rows(told.loaded[0].rows, built->plan)));
}

TEST(EngineLineageTest, LocationsOfTheEngineDoAsWell) {
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage), other = new_jit(lineage);
  Status begun = Ok{};
  auto built = build_with_locations(begun);
  ASSERT_TRUE(begun.ok()) << begun.error().message;
  optimise(*built);
  run(*built, lineage, *jit);
  auto inserted = build();
  optimise(*inserted);
  run(*inserted, lineage, *other);
  ASSERT_THAT(told.loaded, SizeIs(2));
  EXPECT_EQ(owned_rows(told.loaded[0].rows, built->plan), owned_rows(told.loaded[1].rows, inserted->plan));

  build_with_locations(begun, 1);  // the twin: sum's line is 5, and there are four tasks
  ASSERT_FALSE(begun.ok());
  EXPECT_THAT(begun.error().message, HasSubstr("line 5, but the plan has 4 components"));
}

TEST(EngineLineageTest, RuntimeDyldIsHeardToo) {
  Told told;
  EngineLineage lineage(told.events());
  std::vector<OwnedRow> rows;
  {
    auto jit = new_jit(lineage, true);
    auto built = build();
    optimise(*built);
    run(*built, lineage, *jit);
    ASSERT_THAT(told.loaded, SizeIs(1));
    const LoadedObject& object = told.loaded[0];
    EXPECT_EQ(object.loaded.base, llvm::cantFail(jit->lookup("work")).getValue());
    EXPECT_EQ(std::memcmp(object.loaded.code.data(), reinterpret_cast<void*>(object.loaded.base),
                          object.loaded.code.size()),
              0);
    ASSERT_THAT(object.loaded.functions, SizeIs(1));
    EXPECT_EQ(object.loaded.functions[0].size, object.loaded.code.size());
    rows = owned_rows(object.rows, built->plan);
  }
  EXPECT_TRUE(share_the_product(rows));
  EXPECT_THAT(told.removed, ElementsAre(1));
}

TEST(EngineLineageTest, McJitIsHeardOnceItsCodeIsFinal) {
  Told told;
  EngineLineage lineage(told.events());
  auto built = build();
  optimise(*built);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  const std::vector<std::int64_t> numbers = {3, -5, 7, 11};
  {
    std::string problem;
    llvm::LLVMContext context;
    std::unique_ptr<llvm::ExecutionEngine> engine(
        llvm::EngineBuilder(std::make_unique<llvm::Module>("none", context))
            .setEngineKind(llvm::EngineKind::JIT)
            .setErrorStr(&problem)
            .create());
    ASSERT_NE(engine, nullptr) << problem;
    engine->RegisterJITEventListener(&lineage.mcjit_listener());
    auto emitted = built->lineage->emit(*engine->getTargetMachine());
    ASSERT_TRUE(emitted.ok()) << emitted.error().message;
    ASSERT_TRUE(lineage.expect(*emitted->object, emitted->lineage, kPlan).ok());
    engine->addObjectFile(llvm::cantFail(llvm::object::ObjectFile::createObjectFile(*emitted->object)));
    engine->finalizeObject();
    EXPECT_THAT(told.loaded, IsEmpty());
    lineage.mcjit_finalized();
    ASSERT_THAT(told.loaded, SizeIs(1));
    const LoadedCode& loaded = told.loaded[0].loaded;
    EXPECT_EQ(loaded.base, engine->getFunctionAddress("work"));
    EXPECT_EQ(std::memcmp(loaded.code.data(), reinterpret_cast<void*>(loaded.base), loaded.code.size()), 0);
    EXPECT_EQ(reinterpret_cast<Worked*>(loaded.base)(numbers.data(), 4), expected_work(numbers));
    EXPECT_TRUE(share_the_product(owned_rows(told.loaded[0].rows, built->plan)));
  }
  EXPECT_THAT(told.removed, ElementsAre(1));
}

TEST(EngineLineageTest, AKeptObjectHasItsRowsInAnotherSession) {
  Told told, later;
  std::unique_ptr<Built> built = build();
  {
    EngineLineage lineage(told.events());
    auto jit = new_jit(lineage);
    optimise(*built);
    run(*built, lineage, *jit);
  }
  ASSERT_THAT(told.compiled, SizeIs(1));
  EngineObject& kept = told.compiled[0];
  EngineLineage lineage(later.events());
  auto jit = new_jit(lineage);
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(kept.object->getBuffer(), "from the cache");
  ASSERT_TRUE(lineage.expect(*buffer, kept.lineage, kPlan + 1).ok());
  const Status twice = lineage.expect(*buffer, kept.lineage, kPlan + 1);
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().message, HasSubstr("from the cache"));
  llvm::cantFail(jit->addObjectFile(std::move(buffer)));
  run_work(*jit);
  ASSERT_THAT(later.loaded, SizeIs(1));
  EXPECT_EQ(later.loaded[0].plan, kPlan + 1);
  EXPECT_EQ(owned_rows(later.loaded[0].rows, built->plan), owned_rows(told.loaded[0].rows, built->plan));
}

TEST(EngineLineageTest, RowsOfAnotherObjectAreRefused) {
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage);
  auto built = build();
  run(*built, lineage, *jit);
  ASSERT_THAT(told.compiled, SizeIs(1));
  const EngineObject& kept = told.compiled[0];
  std::string bytes = kept.object->getBuffer().str();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  const auto other = llvm::MemoryBuffer::getMemBufferCopy(bytes, "other");
  EXPECT_THAT(lineage.expect(*other, kept.lineage, kPlan).error().message,
              HasSubstr("belongs to another object"));
  for (const std::string& damaged : {std::string(), kept.lineage.substr(0, 10), kept.lineage + "\xFF",
                                     kept.lineage.substr(0, kept.lineage.size() - 1)}) {
    EXPECT_FALSE(lineage.expect(*kept.object, damaged, kPlan).ok()) << damaged.size();
  }
}

TEST(EngineLineageTest, ACopyOfAModuleHasNoLineage) {
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage);
  auto built = build();
  ASSERT_TRUE(lineage.add(built->lineage, kPlan).ok());
  built->module = llvm::CloneModule(*built->module);
  llvm::cantFail(
      jit->addIRModule(orc::ThreadSafeModule(std::move(built->module), std::move(built->context))));
  run_work(*jit);
  EXPECT_THAT(told.loaded, IsEmpty());
}

TEST(EngineLineageTest, AnErasedInstructionLeavesNoOwnerBehind) {
  Built built;
  InstructionLog log(built.lineage->tasks());
  EngineLog owners(built.lineage->tasks());
  auto* function = new_function(*built.module, "work");
  llvm::IRBuilder<llvm::ConstantFolder, EngineInserter> b(*built.context, llvm::ConstantFolder(),
                                                          EngineInserter(&owners));
  b.SetInsertPoint(llvm::BasicBlock::Create(*built.context, "entry", function));
  auto task = built.lineage->tasks().enter(kSum);
  auto* erased = llvm::cast<llvm::Instruction>(b.CreateAdd(function->getArg(1), b.getInt64(1)));
  auto* kept = b.CreateRet(function->getArg(1));
  erased->eraseFromParent();
  owners.move_to(log);
  ASSERT_THAT(log.owners(), SizeIs(1));
  EXPECT_EQ(log.owners().begin()->first, kept);
}

TEST(EngineLineageTest, TheCallbacksMayOutliveTheModuleAndHearOfOthers) {
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::PassBuilder builder(nullptr, {}, {}, &callbacks);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  auto other = build();
  ASSERT_TRUE(other->lineage->observe(builder).ok());
  {
    auto gone = build();
    ASSERT_TRUE(gone->lineage->observe(builder).ok());
  }
  auto built = build();
  ASSERT_TRUE(built->lineage->observe(builder).ok());
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1).run(*built->module, modules);
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage);
  run(*built, lineage, *jit);
  ASSERT_THAT(told.loaded, SizeIs(1));
  EXPECT_TRUE(share_the_product(owned_rows(told.loaded[0].rows, built->plan)));
}

TEST(EngineLineageTest, MisuseIsSaid) {
  Built built;
  llvm::PassBuilder builder;
  EXPECT_THAT(built.lineage->observe(builder).error().message, HasSubstr("has no callbacks"));
  llvm::PassInstrumentationCallbacks callbacks;
  EXPECT_THAT(built.lineage->observe(callbacks).error().message, HasSubstr("begin() was not called"));
  Told told;
  EngineLineage lineage(told.events());
  EXPECT_THAT(lineage.add(built.lineage, kPlan).error().message, HasSubstr("begin() was not called"));
  auto begun = build();
  EXPECT_THAT(begun->lineage->begin(*begun->module).error().message, HasSubstr("called before"));
}

TEST(EngineLineageTest, TagsInR15SurviveTheEnginesOwnCode) {
  constexpr std::uint64_t kTag = 0x1234000500060007;
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage);
  Built built({.tags = TagStrategy::kR15});
  auto* function = new_function(*built.module, "work");
  llvm::IRBuilder<llvm::ConstantFolder, EngineInserter> b(*built.context, llvm::ConstantFolder(),
                                                          built.lineage->inserter());
  b.SetInsertPoint(llvm::BasicBlock::Create(*built.context, "entry", function));
  auto task = built.lineage->tasks().enter(kSum);
  auto* before = emit_tag_read(b, TagStrategy::kR15, nullptr);
  auto* called = emit_tagged_call(b, TagStrategy::kR15, nullptr, before, b.getInt64(kTag), built.shared(),
                                  {function->getArg(1)});
  b.CreateRet(called);
  ASSERT_TRUE(built.lineage->begin(*built.module).ok());
  optimise(built);
  ASSERT_TRUE(lineage.add(built.lineage, kPlan).ok());
  llvm::cantFail(jit->addIRModule(orc::ThreadSafeModule(std::move(built.module), std::move(built.context))));
  auto* work = llvm::cantFail(jit->lookup("work")).toPtr<Worked*>();
  EXPECT_EQ(work(nullptr, 1), 1 ^ 0x55);
  EXPECT_EQ(tag_seen, kTag);
}

}  // namespace
}  // namespace tailor::jit
