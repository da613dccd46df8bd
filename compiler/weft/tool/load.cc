#include "compiler/weft/tool/load.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "compiler/weft/exec/components.h"
#include "compiler/weft/storage/tpch_loader.h"

namespace tailor::weft {
namespace {

void show_progress(const LoadProgress& progress) {
  constexpr int kWidth = 40;
  int filled = static_cast<int>(progress.share * kWidth);
  std::string bar = std::string(static_cast<std::size_t>(filled), '#') +
                    std::string(static_cast<std::size_t>(kWidth - filled), '.');
  fmt::print(stderr, "\rloading TPC-H [{}] {:3.0f} % {:<9}", bar, progress.share * 100, progress.table);
  std::fflush(stderr);
}

}  // namespace

Result<std::unique_ptr<Database>> open_tables(const CommandLine& command) {
  WorkScope work(EngineWork::kLoad);
  if (!command.data.empty()) return Database::open(command.data);
  TpchLoadOptions options;
  options.scale_factor = command.scale_factor;
  options.directory = tpch_directory(default_data_directory(), command.scale_factor);
  options.threads = command.threads;
  bool shown = false;
  if (::isatty(STDERR_FILENO) != 0) {
    options.progress = [&shown](const LoadProgress& progress) {
      shown = true;
      show_progress(progress);
    };
  }
  Status loaded = load_tpch(options);
  if (shown) fmt::print(stderr, "\n");
  if (!loaded.ok()) return std::move(loaded).error();
  return Database::open(options.directory);
}

}  // namespace tailor::weft
