// The daemon's end of the agent socket alone: prints what one client says, until it is gone.
//
//   print_server SOCKET
#include <cstdio>

#include "tests/unit/registration/recording_sink.h"

using namespace tailor::registration;

namespace {

const char* name_of(GoneReason reason) {
  switch (reason) {
    case GoneReason::kGoodbye:
      return "goodbye";
    case GoneReason::kHangup:
      return "hangup";
    case GoneReason::kProcessExit:
      return "process exit";
    case GoneReason::kProtocol:
      return "protocol error";
    case GoneReason::kRefused:
      return "refused";
  }
  return "?";
}

void print(const tailor::registration::testing::RecordingSink& sink) {
  for (const PeerConnected& peer : sink.connected)
    std::printf("connected %s\n", peer.hello.engine_name().c_str());
  for (const PeerMessage& peer : sink.messages) {
    const auto* body = tailor::v1::AgentMessage::descriptor()->FindFieldByNumber(peer.message.body_case());
    std::printf("message %s\n", body ? body->name().c_str() : "?");
  }
  for (const PeerRejected& peer : sink.rejected) std::printf("rejected %s\n", peer.what.c_str());
  std::size_t records = 0;
  for (const ActivityRecords& run : sink.activity) records += run.records.size();
  std::printf("records %zu lost %llu\n", records, static_cast<unsigned long long>(sink.lost()));
  for (const PeerGone& peer : sink.gone) std::printf("gone %s\n", name_of(peer.reason));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tailor::registration::testing::RecordingSink sink;
  ServerOptions options;
  options.socket_path = argv[1];
  auto server = Server::listen(std::move(options), sink);
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message.c_str());
    return 1;
  }
  sink.server = server->get();
  std::printf("listening\n");
  std::fflush(stdout);
  while (sink.gone.empty()) (*server)->poll(20);
  print(sink);
  return 0;
}
