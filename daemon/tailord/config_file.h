// Reads a configuration file for CLI11: TOML by a library of its own, so that all that is wrong is told, with
// its place.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "daemon/session/process_rules.h"

namespace tailor::tailord {

class ConfigFile : public CLI::ConfigTOML {
 public:
  // Declares all options on an application that is there for one value of the file; its values are not used.
  using Declare = std::function<void(CLI::App&)>;

  // `app` is the one whose file this reads; it must outlive the reader.
  // What the file says of processes goes to `processes`, which must outlive it too.
  ConfigFile(const CLI::App& app, Declare declare, session::ProcessRules& processes)
      : app_(app), declare_(std::move(declare)), processes_(processes) {}

  // Throws CLI::ConfigError with a line "FILE:LINE:COLUMN: what is wrong" for everything that is.
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  std::string problem_of(const CLI::ConfigItem& item) const;

  const CLI::App& app_;
  Declare declare_;
  session::ProcessRules& processes_;
};

}  // namespace tailor::tailord
