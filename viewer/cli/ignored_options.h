// Options that would do nothing are refused: who gave one expects something of it.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>

#include "proto/base/result.h"

namespace tailor::cli {

// Fails if one of the options was given: "--rows has no meaning <where>".
inline Status refuse_given(const CLI::App& command, std::initializer_list<const char*> options,
                           const std::string& where) {
  for (const char* option : options) {
    if (command.get_option(option)->count() > 0)
      return invalid(std::string(option) + " has no meaning " + where);
  }
  return Ok{};
}

// Of commands with add_iteration_choice().
inline Status refuse_loop_without_iteration(const CLI::App& command) {
  if (command.get_option("--iteration")->count() > 0) return Ok{};
  return refuse_given(command, {"--loop", "--iterations-from"}, "without --iteration");
}

}  // namespace tailor::cli
