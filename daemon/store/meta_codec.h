// The small records of a profile <-> MetaRecord.
#pragma once

#include <string>

#include "daemon/store/sink.h"
#include "proto/base/result.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {

// Protobuf strings must be UTF-8; names from outside need not be. Bytes that are not become U+FFFD.
std::string to_utf8(const std::string& in);

void set_process(v1::ProcessRef& out, ProcessId process);
ProcessId get_process(const v1::ProcessRef& in);

void encode(const RecordingInfo& in, v1::Recording& out);
void encode(const ProcessRecord& in, v1::ProcessInfo& out);
void encode(const ExecutionRecord& in, v1::Execution& out);
void encode(const MappingRecord& in, v1::MappedFile& out);
void encode(const Accounting& in, v1::ProcessAccounting& out);

// These take any message that protobuf accepts; values out of range fail with a sentence.
Result<RecordingInfo> decode(const v1::Recording& in);
Result<ProcessRecord> decode(const v1::ProcessInfo& in);
Result<ExecutionRecord> decode(const v1::Execution& in);
MappingRecord decode(const v1::MappedFile& in);
Result<Accounting> decode(const v1::ProcessAccounting& in);

}  // namespace tailor::store
