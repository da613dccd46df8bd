// One table declares the options of a program: each entry is the flag on the command line, its help, the key
// in a configuration file, the reader of its value, the member that holds it, and whether it may change while
// the program runs. Nothing else names an option.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tailor::config {

enum class TakesEffect {
  kAtRestart,
  kAtRunTime,  // when the configuration file is read again
};

// Of a program whose options are an `Options`.
template <typename Options>
struct Setting {
  std::string key;    // "frequency": --frequency, and frequency = 99 in a file
  std::string flags;  // as CLI11 takes them, "-F,--frequency"; empty: in a file only
  TakesEffect takes_effect = TakesEffect::kAtRestart;
  std::vector<std::string> excludes = {};  // keys of settings before this one
  // Adds the flag to an application; the options must outlive its parsing.
  std::function<CLI::Option*(CLI::App&, const std::string& flags, Options&)> declare = {};
  std::function<bool(const Options&, const Options&)> same = {};
  std::function<void(Options& to, const Options& from)> take = {};
};

template <typename Options>
using Settings = std::vector<Setting<Options>>;

// `get` gives the member that holds the value; `declare` may be empty where `flags` is.
template <typename Options, typename Get>
Setting<Options> setting(std::string key, std::string flags, Get get,
                         std::function<CLI::Option*(CLI::App&, const std::string&, Options&)> declare,
                         TakesEffect takes_effect = TakesEffect::kAtRestart) {
  Setting<Options> out{std::move(key), std::move(flags), takes_effect};
  out.declare = std::move(declare);
  out.same = [get](const Options& one, const Options& other) { return get(one) == get(other); };
  out.take = [get](Options& to, const Options& from) { get(to) = get(from); };
  return out;
}

// A value that CLI11 reads by itself: a number, a text or a list of them.
template <typename Options, typename Get>
Setting<Options> value(
    std::string key, std::string flags, Get get, std::string help,
    std::function<void(CLI::Option&)> refine = [](CLI::Option&) {},
    TakesEffect takes_effect = TakesEffect::kAtRestart) {
  return setting<Options>(
      std::move(key), std::move(flags), get,
      [get, help = std::move(help), refine = std::move(refine)](CLI::App& app, const std::string& names,
                                                                Options& options) {
        CLI::Option* option = app.add_option(names, get(options), help);
        refine(*option);
        return option;
      },
      takes_effect);
}

// True if the flag is given.
template <typename Options, typename Get>
Setting<Options> flag(std::string key, std::string flags, Get get, std::string help,
                      TakesEffect takes_effect = TakesEffect::kAtRestart) {
  return setting<Options>(
      std::move(key), std::move(flags), get,
      [get, help = std::move(help)](CLI::App& app, const std::string& names, Options& options) {
        return app.add_flag(names, get(options), help);
      },
      takes_effect);
}

// One of the names, in upper or lower case. CLI11's own transformer for maps shows the values too, as raw
// bytes.
template <typename Options, typename Get, typename Value>
Setting<Options> choice(std::string key, std::string flags, Get get,
                        const std::map<std::string, Value>& names, std::string help) {
  std::vector<std::string> keys;
  for (const auto& [name, meaning] : names) keys.push_back(name);
  return setting<Options>(
      std::move(key), std::move(flags), get,
      [get, names, keys, help = std::move(help)](CLI::App& app, const std::string& flag_names,
                                                 Options& options) {
        return app
            .add_option_function<std::string>(
                flag_names,
                [get, names, &options](const std::string& name) { get(options) = names.at(name); }, help)
            ->transform(CLI::IsMember(keys, CLI::ignore_case))
            ->type_name("NAME");
      });
}

// The settings of a part of the options.
template <typename Options, typename Part, typename Get>
Settings<Options> within(const Settings<Part>& settings, Get get) {
  Settings<Options> all;
  for (const Setting<Part>& part : settings) {
    Setting<Options> one{part.key, part.flags, part.takes_effect, part.excludes};
    one.declare = [get, declare = part.declare](CLI::App& app, const std::string& flags, Options& options) {
      return declare(app, flags, get(options));
    };
    one.same = [get, same = part.same](const Options& a, const Options& b) { return same(get(a), get(b)); };
    one.take = [get, take = part.take](Options& to, const Options& from) { take(get(to), get(from)); };
    all.push_back(std::move(one));
  }
  return all;
}

// Adds all that have a flag to `app`, and gives them; `app` owns them. `options` must outlive the parsing.
template <typename Options>
std::vector<const CLI::Option*> declare(CLI::App& app, const Settings<Options>& settings, Options& options) {
  std::vector<const CLI::Option*> declared;
  std::map<std::string, CLI::Option*> by_key;
  for (const Setting<Options>& each : settings) {
    if (each.flags.empty()) continue;
    CLI::Option* option = each.declare(app, each.flags, options);
    for (const std::string& key : each.excludes) option->excludes(by_key.at(key));
    declared.push_back(option);
    by_key.emplace(each.key, option);
  }
  return declared;
}

}  // namespace tailor::config
