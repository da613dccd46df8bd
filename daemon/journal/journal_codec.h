// Inputs <-> journal records.
#pragma once

#include "daemon/pipeline/input.h"
#include "daemon/pipeline/pipeline.h"
#include "proto/base/result.h"
#include "tailor/v1/journal.pb.h"

namespace tailor::journal {

void encode(const pipeline::PipelineOptions& in, v1::JournalStart& out);
void encode(const clock::Conversion& in, bool restarted, v1::ClockPiece& out);
void encode(const pipeline::MemoryMapping& in, v1::MemoryMapping& out);
void encode(const capture::RingLayout& in, v1::RingLayout& out);
void encode(const registration::PeerConnected& in, v1::PeerConnected& out);
void encode(const registration::PeerMessage& in, v1::PeerMessage& out);
void encode(const registration::ActivityRecords& in, v1::PeerActivity& out);

pipeline::PipelineOptions decode(const v1::JournalStart& in);
// Gives `input` what `record` holds. Fails for a record that no writer makes (and for start and end, which
// are no inputs).
Status deliver(const v1::JournalRecord& record, pipeline::Input& input);

}  // namespace tailor::journal
