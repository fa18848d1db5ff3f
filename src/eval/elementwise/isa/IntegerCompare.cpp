// arith.cmpi.
#include "eval/elementwise/isa/Families.h"
#include "eval/elementwise/isa/IntegerRows.h"

namespace smalti::eval::SMALTI_ISA {
namespace {

template <class W>
using U = typename W::U;

template <class W>
struct Equal {
  static bool apply(U<W> a, U<W> b) { return a == b; }
};
template <class W>
struct NotEqual {
  static bool apply(U<W> a, U<W> b) { return a != b; }
};
template <class W>
struct LessSigned {
  static bool apply(U<W> a, U<W> b) { return W::extended(a) < W::extended(b); }
};
template <class W>
struct LessEqualSigned {
  static bool apply(U<W> a, U<W> b) { return W::extended(a) <= W::extended(b); }
};
template <class W>
struct GreaterSigned {
  static bool apply(U<W> a, U<W> b) { return W::extended(a) > W::extended(b); }
};
template <class W>
struct GreaterEqualSigned {
  static bool apply(U<W> a, U<W> b) { return W::extended(a) >= W::extended(b); }
};
template <class W>
struct LessUnsigned {
  static bool apply(U<W> a, U<W> b) { return a < b; }
};
template <class W>
struct LessEqualUnsigned {
  static bool apply(U<W> a, U<W> b) { return a <= b; }
};
template <class W>
struct GreaterUnsigned {
  static bool apply(U<W> a, U<W> b) { return a > b; }
};
template <class W>
struct GreaterEqualUnsigned {
  static bool apply(U<W> a, U<W> b) { return a >= b; }
};

constexpr IntBinaryRow kRows[] = {
    intCompareRow<Equal>("arith.cmpi.eq"),
    intCompareRow<NotEqual>("arith.cmpi.ne"),
    intCompareRow<LessSigned>("arith.cmpi.slt"),
    intCompareRow<LessEqualSigned>("arith.cmpi.sle"),
    intCompareRow<GreaterSigned>("arith.cmpi.sgt"),
    intCompareRow<GreaterEqualSigned>("arith.cmpi.sge"),
    intCompareRow<LessUnsigned>("arith.cmpi.ult"),
    intCompareRow<LessEqualUnsigned>("arith.cmpi.ule"),
    intCompareRow<GreaterUnsigned>("arith.cmpi.ugt"),
    intCompareRow<GreaterEqualUnsigned>("arith.cmpi.uge"),
};

}  // namespace

Rows<IntBinaryRow> intCompareRows() { return SMALTI_ROWS(kRows); }

}  // namespace smalti::eval::SMALTI_ISA
