// Where a program writes what its user named: a profile, a journal, a report, an export. One way for all of
// them, so that -o means everywhere what it means in other programs.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "daemon/os/files.h"
#include "daemon/store/file_io.h"
#include "proto/base/result.h"

namespace tailor::store {

struct OutputOptions {
  // When the name leads to what is written. Before that, a file that has the name stays as it is, and so it
  // does where the program fails or is killed.
  enum class Shown {
    kWhenComplete,  // complete() was called
    kWhenBegun,     // begin() was called, and there is something to read: it can be read while it grows, and
                    // stays where its writer is killed
    kAtOnce,        // there is something to read
  } shown = Shown::kWhenComplete;
  bool keep_old = false;  // a file that had the name is then called NAME.old, if anything is in it
  mode_t mode = 0640;     // of a new file, less the umask; profiles hold query texts
  bool text = false;      // may be written to a terminal
};

// An output whose name may lead elsewhere until it is time.
class NamedOutput : public Output {
 public:
  // The file is worth a look from now on (Shown::kWhenBegun). Any thread may call it.
  virtual void begin() {}
  // It is whole. Nothing may be appended afterwards. Fails where it could not take its name.
  virtual Status complete() { return Ok{}; }
};

// `path` as find_output_target() has it. A file is written beside it, and then takes its name; it allows
// nobody more than a file that had the name. Where no file can be made beside it (the directory is another
// user's), it is written in place. A pipe or a device is written to as it is, and cannot take back what was
// written when a write fails. A reader that has gone is an error (EPIPE) and no signal.
//
// append(), sync() and complete() are of one thread, begin() of any. `files` must outlive the output.
Result<std::unique_ptr<NamedOutput>> open_output(const std::string& path, const OutputOptions& options = {},
                                                 os::Files& files = os::real_files());

// The whole of it at once, as text: it may go to a terminal. A reader of standard output that has gone ends
// the program by SIGPIPE, as with other programs.
Status write_output(const std::string& path, std::string_view content, mode_t mode = 0666,
                    os::Files& files = os::real_files());

}  // namespace tailor::store
