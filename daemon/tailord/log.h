// What tailord says on standard error. In the journal of systemd each line begins with its priority
// (sd-daemon(3)), and the journal gives it its time; elsewhere a line has its own time and level.
#pragma once

#include <string>
#include <string_view>

namespace tailor::tailord {

// Whether standard error is the stream that JOURNAL_STREAM names ("DEVICE:INODE"): it may be set and lead
// elsewhere. Main thread.
bool logs_to_journal();

// "error" and the like, of Options::log_level. Once; main thread, before there are others.
void start_logging(const std::string& level, bool journal);

// Errors from before the log, a line each, with their priority where `journal` is set: "<3>tailord: ...".
std::string as_errors(std::string_view text, bool journal);

}  // namespace tailor::tailord
