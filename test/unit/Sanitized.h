// Whether the address sanitizer watches this process. Most builds compile the tests themselves without it
// (CMakeLists.txt), so that only the runtime knows.
#pragma once

#include <gtest/gtest.h>

extern "C" __attribute__((weak)) void __asan_init();

/// The first statement of a test that the sanitizer disturbs, or that shows it nothing.
#define SMALTI_SKIP_WITH_ADDRESS_SANITIZER(why) \
  if (&__asan_init != nullptr) GTEST_SKIP() << (why)
