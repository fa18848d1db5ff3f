// Marks tests that take seconds.
#pragma once

#include <cstdlib>

#include <gtest/gtest.h>

#include "Sanitized.h"

/// The first statement of such a test: `./do test quick` leaves it out.
#define SMALTI_LONG_TEST() \
  if (std::getenv("SMALTI_QUICK_TESTS")) GTEST_SKIP() << "takes seconds: not a quick test"

/// The same for a test that runs generated code, which is not instrumented, most of the time: the address sanitizer's
/// run leaves it out, too.
#define SMALTI_LONG_TEST_OF_GENERATED_CODE() \
  SMALTI_LONG_TEST();                        \
  SMALTI_SKIP_WITH_ADDRESS_SANITIZER("it runs generated code, which is not instrumented")
