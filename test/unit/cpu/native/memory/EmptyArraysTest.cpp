// Arrays without elements, whose blocks have some: nothing is read or written outside the array.
#include <gtest/gtest.h>

#include "../Native.h"

namespace smalti::cpu::testing {
namespace {

TEST(NativeEmptyArrays, AreNeitherReadNorWritten) {
  for (const Shape& array : {Shape{1024, 0}, Shape{0, 128}, Shape{0, 0}}) {
    TextKernel k({1});
    const Spec empty{.array = array, .block = {1024, 128}, .map = "%i, %c0"},
        full{.array = {1024, 128}, .block = {1024, 128}, .map = "%i, %c0"};
    k.input(empty);
    const Val y = k.input(full), o = k.output(empty), other = k.output(full);
    k.store(k.load(y), o);
    k.store(k.binary("arith.addf", k.load(y), k.load(y)), other);
    const Array none = Array::allocate({DType::f32, array}).value();
    for (int i = 0; i < 4; ++i) same(k, {none, counting({1024, 128})});
  }
}

}  // namespace
}  // namespace smalti::cpu::testing
