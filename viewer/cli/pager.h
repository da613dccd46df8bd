// Long output on a terminal goes through a pager, as git's does.
#pragma once

#include <sys/types.h>

namespace tailor::cli {

// While it lives, standard output goes to the pager, if standard output is a terminal: to TAILOR_PAGER, else
// to PAGER, else to less. An empty one, and "cat", mean none. What the terminal can show must be known before
// (Terminal::detect). One at a time.
class Pager {
 public:
  Pager();
  // Waits until the reader has left it.
  ~Pager();
  bool runs() const { return pid_ >= 0; }
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

 private:
  pid_t pid_ = -1;
};

}  // namespace tailor::cli
