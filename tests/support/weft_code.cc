#include "tests/support/weft_code.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/optimizer/planner.h"
#include "compiler/weft/runtime/symbols.h"
#include "compiler/weft/storage/tpch_loader.h"

namespace tailor::weft {
namespace {

constexpr double kScaleFactor = 0.01;

template <typename T>
T must(Result<T> result, const char* what) {
  if (result.ok()) return std::move(*result);
  std::fprintf(stderr, "%s: %s\n", what, result.error().message.c_str());
  std::abort();
}

jit::SealedModule generate(const Plan& plan, tagging::DictionaryBuilder& dictionary,
                           const jit::QueryModuleOptions& options) {
  jit::QueryModule module(dictionary, options);
  Compilation(plan, dictionary, module, {.database = &test_tables()}).run();
  return must(module.seal(), "sealing");
}

}  // namespace

std::vector<NamedQuery> lineage_queries() {
  const auto all = query_library();
  return {all.begin(), all.end()};
}

const Database& test_tables() {
  static const Database* const tables = [] {
    TpchLoadOptions options;
    options.scale_factor = kScaleFactor;
    options.directory = tpch_directory(default_data_directory(), kScaleFactor);
    options.threads = 2;
    if (Status status = load_tpch(options); !status.ok()) {
      std::printf("SKIP: no tables: %s\n", status.error().message.c_str());
      std::fflush(stdout);
      std::_Exit(77);
    }
    return must(Database::open(options.directory), "opening tables").release();
  }();
  return *tables;
}

std::string name_of(const CodeKind& kind) {
  std::string name = *kind.cpu == '\0' ? "host" : kind.cpu;
  std::replace(name.begin(), name.end(), '-', '_');
  return name + "_O" + std::to_string(static_cast<int>(kind.level));
}

std::vector<CodeKind> kinds_of_code() {
  std::vector<CodeKind> kinds;
  std::vector<const char*> cpus(std::begin(kTestCpus), std::end(kTestCpus));
  if (long_tests()) cpus = {kTestCpu, ""};
  for (const char* cpu : cpus) {
    for (jit::OptLevel level : {jit::OptLevel::kO2, jit::OptLevel::kO3}) kinds.push_back({cpu, level});
  }
  return kinds;
}

std::unique_ptr<jit::Jit> make_test_jit(const char* cpu) {
  auto compiler = must(jit::Jit::create(cpu), "compiler");
  for (const RuntimeSymbol& symbol : runtime_symbols()) {
    if (!compiler->define(symbol.name, symbol.address).ok()) std::abort();
  }
  return compiler;
}

bool long_tests() {
  return std::getenv("TAILOR_LONG_TESTS") != nullptr;
}

GeneratedQuery::GeneratedQuery(const NamedQuery& query, const jit::QueryModuleOptions& options)
    : plan(std::make_shared<const Plan>(
          must(plan_query(std::string(query.sql), test_tables().catalog()), "planning"))),
      dictionary(std::string(query.name), {"operator", "task", "ir"}),
      sealed(generate(*plan, dictionary, options)) {}

GeneratedQuery::GeneratedQuery(const GeneratedQuery& query, const jit::QueryModuleOptions& options)
    : plan(query.plan),
      dictionary("again", {"operator", "task", "ir"}),
      sealed(generate(*plan, dictionary, options)) {}

std::vector<ComponentId> GeneratedQuery::tasks_of(std::span<const ComponentId> instructions) const {
  std::vector<ComponentId> tasks;
  for (ComponentId id : instructions) {
    auto owners = dictionary.owners(kIrLevel, id);
    tasks.insert(tasks.end(), owners.begin(), owners.end());
  }
  std::sort(tasks.begin(), tasks.end());
  tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
  return tasks;
}

}  // namespace tailor::weft
