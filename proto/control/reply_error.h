// The failure of a request, as the reply carries it: the asker has the kind too, not the sentence alone.
#pragma once

#include "proto/base/result.h"
#include "tailor/v1/control.pb.h"

namespace tailor::control {

// `reply` becomes one that says nothing else. The message of `error` must be UTF-8.
void set_error(v1::ControlReply& reply, const Error& error);

// The error of a reply that has one. A kind that this program does not know is kInternal.
Error error_of(const v1::ControlReply& reply);

}  // namespace tailor::control
