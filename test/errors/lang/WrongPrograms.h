// Wrong programs in the kernel language: each is a function whose comment is the whole message it must end in.
// `tools/wrong_programs.py --write` writes the comments, and the examples of docs/errors that show them.
#pragma once

#include <vector>

#include "smalti/smalti.h"

namespace smalti::test {

struct WrongProgram {
  const char* file;
  const char* name;
  void (*run)();
};

inline std::vector<WrongProgram>& wrongPrograms() {
  static std::vector<WrongProgram> all;
  return all;
}

struct Registration {
  Registration(const char* file, const char* name, void (*run)()) { wrongPrograms().push_back({file, name, run}); }
};

}  // namespace smalti::test

/// Declares and registers the program whose body follows.
#define WRONG_PROGRAM(name)                                                          \
  static void name();                                                                \
  static const smalti::test::Registration name##Registration(__FILE__, #name, name); \
  static void name()
