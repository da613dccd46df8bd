// The small records of a profile <-> MetaRecord.
#pragma once

#include <string>

#include "daemon/profile/sink.h"
#include "proto/base/result.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {

// Protobuf strings must be UTF-8; names from outside need not be. Bytes that are not become U+FFFD. Paths of
// mapped files are kept as they are, too: a reader opens them.
std::string to_utf8(const std::string& in);

void set_process(v1::ProcessRef& out, ProcessId process);
ProcessId get_process(const v1::ProcessRef& in);

void encode(const profile::RecordingInfo& in, v1::Recording& out);
void encode(const profile::ProcessRecord& in, v1::ProcessInfo& out);
void encode(const profile::ExecutionRecord& in, v1::Execution& out);
void encode(const profile::MappingRecord& in, v1::MappedFile& out);
void encode(const profile::FileNames& in, v1::FileNames& out);
void encode(const profile::Accounting& in, v1::ProcessAccounting& out);

// These take any message that protobuf accepts; values out of range fail with a sentence.
Result<profile::RecordingInfo> decode(const v1::Recording& in);
Result<profile::ProcessRecord> decode(const v1::ProcessInfo& in);
Result<profile::ExecutionRecord> decode(const v1::Execution& in);
profile::MappingRecord decode(const v1::MappedFile& in);
Result<profile::FileNames> decode(const v1::FileNames& in);
Result<profile::Accounting> decode(const v1::ProcessAccounting& in);

}  // namespace tailor::store
