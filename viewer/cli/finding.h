// What `tailor doctor` says of one thing that it has looked at.
#pragma once

#include <string>

namespace tailor::cli {

struct Finding {
  enum class State {
    kOk,
    kNote,     // something is given up
    kProblem,  // nothing, or something wrong, would be shown
  };
  State state = State::kOk;
  std::string check;       // "timer", "kernel names"
  std::string found;       // a sentence; may hold hostile names
  std::string remedy;      // what to do; "" where nothing is to be done
  std::string cause = {};  // a key, for programs; "" where `check` says enough
};

}  // namespace tailor::cli
