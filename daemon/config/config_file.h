// Reads a configuration file for CLI11: TOML by a library of its own, so that all that is wrong is told, with
// its place.
#pragma once

#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace tailor::config {

// Tells what is wrong, and where.
using OnWrong = std::function<void(const toml::source_region& where, const std::string& what)>;
// Reads a table of the file that is no option, [processes] for example.
using ReadTable = std::function<void(const toml::table& table, const OnWrong& wrong)>;

class ConfigFile : public CLI::ConfigTOML {
 public:
  // Declares all options on an application that is there for one value of the file; its values are not used.
  using Declare = std::function<void(CLI::App&)>;

  // `app` is the one whose file this reads; it must outlive the reader. `tables`: by name.
  ConfigFile(const CLI::App& app, Declare declare, std::map<std::string, ReadTable> tables)
      : app_(app), declare_(std::move(declare)), tables_(std::move(tables)) {}

  // Throws CLI::ConfigError with a line "FILE:LINE:COLUMN: what is wrong" for everything that is.
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  std::string problem_of(const CLI::ConfigItem& item) const;

  const CLI::App& app_;
  Declare declare_;
  std::map<std::string, ReadTable> tables_;
};

}  // namespace tailor::config
