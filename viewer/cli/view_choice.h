// From what the user typed to a view of samples: the commands that show a part of a profile in pictures.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "daemon/serve/view.h"
#include "viewer/cli/choose.h"

namespace tailor::cli {

struct ViewChoice {
  Choice choice;
  std::optional<std::int32_t> thread;
  std::optional<std::uint32_t> pipeline, op;
};

// What a command needs beside the sums.
enum class Needs { kSums, kSamples, kActivity, kFunctions, kActivityAndFunctions };

// Adds the options of add_choice() and those of a part. `choice` must outlive the parsing.
void add_view_choice(CLI::App& command, ViewChoice& choice);

// Opens what choose() does and narrows it to the part. Fails where one of both does.
Result<serve::View> open_view(const ViewChoice& choice, Needs needs);

}  // namespace tailor::cli
