// Long output on a terminal goes through a pager, as git's does.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace tailor::cli {

// From start() on, standard output goes to the pager, if standard output is a terminal: to TAILOR_PAGER, else
// to PAGER, else to less. An empty one, and "cat", mean none. What the terminal can show must be known before
// (Terminal::detect). One at a time.
class Pager {
 public:
  Pager() = default;
  // Waits until the reader has left it.
  ~Pager();
  // `line`: the first in sight, from 1, if the pager is less; 0: the first of all. Only the first call
  // counts.
  void start(std::size_t line);
  bool runs() const { return pid_ >= 0; }
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

 private:
  pid_t pid_ = -1;
  bool started_ = false;
};

}  // namespace tailor::cli
