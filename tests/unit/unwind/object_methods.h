// Objects of which one calls a method of another, which calls back: as operators of an interpreter do. The
// functions are in object_walk_test.cc.
#pragma once

#include <cstdint>

struct Object {
  std::uint64_t other = 0;
  void (*method)(Object* self, void (*callback)()) = nullptr;
};

extern "C" {
// A method that keeps its object, and one that does not.
void keeps_object(Object* self, void (*callback)());
void forgets_object(Object* self, void (*callback)());
// A method of `self` that calls the one of `child`, and one that still knows `child` then.
void calls_method(Object* self, void (*callback)(), Object* child);
void calls_by_register(Object* self, void (*callback)(), void (*function)(Object*, void (*)()));
void calls_kept(Object* self, void (*callback)(), Object* child);
}
