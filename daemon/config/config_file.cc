#include "daemon/config/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <istream>
#include <optional>
#include <string_view>

#include "daemon/query/reports/no_such.h"

namespace tailor::config {
namespace {

// What is no setting of a program, but something that it is asked for once.
constexpr std::string_view kOnCommandLineOnly[] = {"config", "check-config", "help", "version"};

std::optional<std::string> text_of(const toml::node& value) {
  if (const auto* text = value.as_string()) return text->get();
  if (const auto* number = value.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = value.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = value.as_boolean()) return truth->get() ? "true" : "false";
  return std::nullopt;
}

// False where the value is of a kind that no option has.
bool read_value(const toml::node& value, std::vector<std::string>& out) {
  const toml::array* several = value.as_array();
  if (several == nullptr) {
    auto text = text_of(value);
    if (text) out.push_back(std::move(*text));
    return text.has_value();
  }
  return std::ranges::all_of(*several, [&](const toml::node& each) {
    auto text = text_of(each);
    if (text) out.push_back(std::move(*text));
    return text.has_value();
  });
}

std::vector<std::string> setting_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      if (!std::ranges::count(kOnCommandLineOnly, name)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string ConfigFile::problem_of(const CLI::ConfigItem& item) const {
  CLI::App app;
  declare_(app);
  const auto names = setting_names(app);
  if (!std::ranges::binary_search(names, item.name))
    return query::no_such("option", item.name, names).message;
  std::vector<std::string> arguments;
  for (const std::string& value : item.inputs) arguments.push_back(fmt::format("--{}={}", item.name, value));
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& problem) {
    return problem.what();
  }
  return "";
}

std::vector<CLI::ConfigItem> ConfigFile::from_config(std::istream& input) const {
  const auto path = app_.get_config_ptr()->as<std::string>();
  std::vector<CLI::ConfigItem> settings;
  std::vector<std::string> problems;
  const auto wrong = [&](const toml::source_region& where, std::string_view what) {
    problems.push_back(fmt::format("{}:{}:{}: {}", path, where.begin.line, where.begin.column, what));
  };
  try {
    const toml::table file = toml::parse(input, path);
    for (const auto& [key, value] : file) {
      const auto reader = tables_.find(std::string(key.str()));
      if (const toml::table* table = value.as_table(); table != nullptr && reader != tables_.end()) {
        reader->second(*table, wrong);
        continue;
      }
      CLI::ConfigItem item;
      item.name = std::string(key.str());
      if (!read_value(value, item.inputs)) {
        wrong(key.source(),
              fmt::format("\"{}\" is neither text, number, true or false, nor a list of them", item.name));
      } else if (const std::string problem = problem_of(item); !problem.empty()) {
        wrong(key.source(), problem);
      }
      settings.push_back(std::move(item));
    }
  } catch (const toml::parse_error& problem) {
    wrong(problem.source(), problem.description());
  }
  if (!problems.empty())
    throw CLI::ConfigError(fmt::format("{}", fmt::join(problems, "\n")), CLI::ExitCodes::ConfigError);
  return settings;
}

}  // namespace tailor::config
