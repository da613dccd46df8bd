// What the user asked weft for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/llvm/jit.h"
#include "compiler/llvm/tag_strategy.h"
#include "compiler/weft/exec/result_set.h"
#include "compiler/weft/plan/query_text.h"
#include "compiler/weft/storage/csv_import.h"
#include "proto/base/result.h"

namespace tailor::weft {

struct CommandLine {
  enum class Command {
    kRun,
    kExplain,
    kExplainAnalyze,
    kLoadTpch,
    kLoadCsv,
    kShell,
    kWorkflow,
    kCompileWorkflow,
    kExplainWorkflow,
    kAnalyzeWorkflow
  };
  Command command = Command::kShell;
  std::vector<std::pair<std::string, QueryText>> queries;  // name, text

  std::string data;  // directory with table files; empty: the TPC-H tables of `scale_factor`
  double scale_factor = 1;
  CsvOptions csv;  // load-csv
  struct WorkflowOptions {
    std::string file;                              // or the name of one that comes with weft
    std::map<std::string, std::int64_t> settings;  // values of its constants
    std::string clang;                             // empty: the one that is found
    std::string folder;                            // where what is compiled goes
  };
  WorkflowOptions workflow;
  unsigned threads = 1;
  unsigned repeat = 1;
  unsigned concurrent = 1;
  jit::OptLevel level = jit::OptLevel::kO2;
  bool tiered = true;        // unoptimised code until that of `level` is ready
  unsigned kept_plans = 64;  // for the next query of the same text
  jit::TagStrategy tags = jit::TagStrategy::kR15;
  bool lineage = true;
  bool instrument = false;
  bool count_rows = false;         // that operators pass on, also without explain analyze
  std::uint64_t memory_limit = 0;  // bytes
  std::vector<std::pair<std::string, std::string>> labels;

  ResultFormat format = ResultFormat::kPipes;
  bool quiet = false;       // no rows
  bool levels = false;      // of explain: IR and machine code too
  bool perf_map = false;    // names of generated code for perf ...
  std::string jitdump;      // ... and in this folder with times and code; empty: no
  bool gdb = false;         // names for gdb
  bool timing = false;      // times on the error stream
  std::string timing_json;  // file, "-": standard output
};

// Parses the arguments; prints help and the like itself and then ends the process, as it does on wrong usage.
// Errors: unreadable files, unknown query names.
Result<CommandLine> parse_command_line(int argc, char** argv);

}  // namespace tailor::weft
