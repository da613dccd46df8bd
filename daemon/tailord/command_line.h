// From the command line of tailord to its options: what stands there, then the configuration file, then the
// defaults.
#pragma once

#include "daemon/tailord/options.h"
#include "proto/base/result.h"

namespace tailor::tailord {

struct Parsed {
  Options options;
  bool finished = false;  // --help, --version or --check-config was answered
  int exit_code = 0;      // then, and after a wrong command line or configuration
};

Parsed parse(int argc, char** argv);

// The same command line, and the configuration file as it is now. Prints nothing: the error has all that is
// wrong. Any thread.
Result<Options> parse_again(int argc, char** argv);

}  // namespace tailor::tailord
