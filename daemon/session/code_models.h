// What agents say of their code, for those who need it beside the pipeline: the enricher that unwinds stacks,
// and the BPF program that decides which samples bring one. The pipeline judges a message first. What it took
// comes here, and nowhere else.
#pragma once

#include "daemon/bpf/opener.h"
#include "daemon/registration/events.h"
#include "daemon/unwind/stack_enricher.h"

namespace tailor::session {

// Control thread only.
class CodeModels {
 public:
  // Both must outlive this.
  CodeModels(unwind::StackEnricher& stacks, bpf::Opener& opener) : stacks_(stacks), opener_(opener) {}

  void connected(const registration::PeerConnected& event);
  void message(const registration::PeerMessage& event);
  void gone(const registration::PeerGone& event);

 private:
  unwind::StackEnricher& stacks_;
  bpf::Opener& opener_;
};

}  // namespace tailor::session
