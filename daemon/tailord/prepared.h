// Everything that a configuration asks of this host and its files, judged before anything is opened: by
// tailord when it starts, and by --check-config. So what one refuses the other refuses too, with the same
// words.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "daemon/os/os.h"
#include "daemon/serve/http/http_server.h"
#include "daemon/session/rates.h"
#include "daemon/tailord/options.h"
#include "daemon/tailord/triggered_rates.h"
#include "proto/base/result.h"

namespace tailor::tailord {

struct Prepared {
  capture::CaptureOptions capture;
  PreparedRates rates;
  serve::HttpOptions http;  // without listeners if nothing is to listen
};

// Nothing if there is no group of that name. Any thread.
std::optional<gid_t> group_id(const std::string& name);

// Reads the file of the tokens; makes, binds and changes nothing. Whatever is wrong with the options is
// kInvalid: to start again does not help.
Result<Prepared> prepare(os::Os& os, const Options& options);

}  // namespace tailor::tailord
