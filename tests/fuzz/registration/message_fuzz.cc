// What an agent sends, from bytes to a valid message. The input is a packet.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/registration/message_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tailor::registration;
  auto message = parse({reinterpret_cast<const char*>(data), size});
  if (!message) return message.error().message.empty() ? (std::abort(), 0) : 0;
  if (is_envelope(*message)) return 0;
  if (!validate(*message)) return 0;
  // What was valid stays so over the wire: a journal replays what the pipeline has seen.
  auto again = parse(message->SerializeAsString());
  if (!again || !validate(*again)) std::abort();
  return 0;
}
