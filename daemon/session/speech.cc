#include "daemon/session/speech.h"

#include <utility>

namespace tailor::session {
namespace {

struct Saying {
  std::uint64_t tsc;
  pipeline::Input& input;

  void operator()(registration::PeerConnected& event) const {
    event.received_tsc = tsc;
    input.on_connected(event);
  }
  void operator()(registration::PeerMessage& event) const {
    event.received_tsc = tsc;
    input.on_message(event);
  }
  void operator()(const registration::PeerRejected& event) const { input.on_rejected(event); }
  void operator()(const registration::PeerGone& event) const { input.on_gone(event); }
};

}  // namespace

void say(Speech speech, std::uint64_t tsc, pipeline::Input& input) {
  for (Speech::Event& event : speech.events) std::visit(Saying{tsc, input}, event);
}

}  // namespace tailor::session
