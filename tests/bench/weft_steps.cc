// weft, one step at a time, for benchmarks that alternate between ways to run a query within milliseconds:
//
//   weft_steps SCALE_FACTOR
//
// reads commands, a line each, and answers each with a line:
//
//   prepare NAME QUERY TAGS PADDING   compiles a query that comes with weft, and executes it once. NAME is
//                                     the caller's, and any query of that name goes. Answers "ok"
//   run NAME MICROSECONDS             executes it until that much CPU time is used, at least once. Answers
//                                     the CPU time of every execution in ns
//
// PADDING: bytes in front of every function of generated code (CompileSettings::padding).
// Errors end it, with a message on the error stream. Executes on one thread.
#include <fmt/format.h>
#include <malloc.h>
#include <tailor/agent.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>

#include "compiler/weft/exec/compiled_query.h"
#include "compiler/weft/exec/execution.h"
#include "compiler/weft/runtime/symbols.h"
#include "compiler/weft/storage/tpch_loader.h"
#include "compiler/weft/tool/query_library.h"

namespace {

using namespace tailor;
using namespace tailor::weft;

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "weft_steps: {}\n", message);
  std::exit(1);
}

template <typename T>
T take(Result<T> result) {
  if (!result.ok()) fail(result.error().message);
  return std::move(*result);
}

jit::TagStrategy strategy(const std::string& name) {
  if (name == "r15") return jit::TagStrategy::kR15;
  if (name == "swiftself") return jit::TagStrategy::kSwiftSelf;
  if (name == "slot") return jit::TagStrategy::kMemorySlot;
  if (name == "none") return jit::TagStrategy::kNone;
  fail("no such place for tags: " + name);
}

class Steps {
 public:
  explicit Steps(double scale_factor) {
    TpchLoadOptions load;
    load.scale_factor = scale_factor;
    load.directory = tpch_directory(default_data_directory(), scale_factor);
    if (Status loaded = load_tpch(load); !loaded.ok()) fail(loaded.error().message);
    database_ = take(Database::open(load.directory));
    jit_ = take(jit::Jit::create());
    for (const RuntimeSymbol& symbol : runtime_symbols()) {
      if (Status status = jit_->define(symbol.name, symbol.address); !status.ok())
        fail(status.error().message);
    }
  }

  std::string apply(const std::string& line) {
    std::istringstream words(line);
    std::string command, name;
    words >> command >> name;
    if (command == "prepare") {
      std::string query, tags;
      unsigned padding = 0;
      if (words >> query >> tags >> padding) return prepare(name, query, tags, padding);
    } else if (std::int64_t microseconds = 0; command == "run" && words >> microseconds) {
      return run(name, microseconds);
    }
    fail("not a command: " + line);
  }

 private:
  std::string prepare(const std::string& name, const std::string& query, const std::string& tags,
                      unsigned padding) {
    const NamedQuery* found = find_query(query);
    if (found == nullptr) fail("no such query: " + query);
    CompileSettings settings;
    settings.name = query;
    settings.tags = strategy(tags);
    settings.padding = padding;
    prepared_.erase(name);
    auto compiled = take(CompiledQuery::make(std::string(found->sql), *database_, *jit_, settings));
    take(execute(*compiled, pool_, {}));
    prepared_.emplace(name, std::move(compiled));
    return "ok";
  }

  std::string run(const std::string& name, std::int64_t microseconds) {
    auto it = prepared_.find(name);
    if (it == prepared_.end()) fail("not prepared: " + name);
    std::string out;
    for (std::int64_t used = 0; out.empty() || used < microseconds * 1000;) {
      std::int64_t ns = take(execute(*it->second, pool_, {})).cpu_ns;
      out += fmt::format("{}{}", out.empty() ? "" : " ", ns);
      used += ns;
    }
    return out;
  }

  std::unique_ptr<Database> database_;
  std::unique_ptr<jit::Jit> jit_;
  WorkerPool pool_{1};
  std::map<std::string, std::unique_ptr<CompiledQuery>> prepared_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) fail("usage: weft_steps SCALE_FACTOR");
  // As weft itself does: memory of one execution serves the next one.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  tailor_agent_options options{};
  options.size = sizeof(options);
  options.engine_name = "weft";
  options.engine_version = "0.1.0";
  options.tag_strategy = TAILOR_TAGS_R15;
  tailor_agent_start(&options);
  Steps steps(std::strtod(argv[1], nullptr));
  for (std::string line; std::getline(std::cin, line);) std::cout << steps.apply(line) << std::endl;
  return 0;
}
