// Integer arithmetic, bitwise ops, shifts and counts. A functor is a template over the width W: operands are bits
// (`U`); ops that read a sign ask `W::extended` for the value; the result is cut to the width when stored.
#include "eval/elementwise/isa/Families.h"
#include "eval/elementwise/isa/IntegerRows.h"

namespace smalti::eval::SMALTI_ISA {
namespace {

template <class W>
using U = typename W::U;
template <class W>
using S = typename W::S;
template <class W>
U<W> bits(typename W::Wide x) {
  return static_cast<U<W>>(x);
}

template <class W>
struct Add {
  static U<W> apply(U<W> a, U<W> b) { return a + b; }
};
template <class W>
struct Subtract {
  static U<W> apply(U<W> a, U<W> b) { return a - b; }
};
template <class W>
struct Multiply {
  static U<W> apply(U<W> a, U<W> b) { return bits<W>(typename W::Wide{a} * b); }
};
template <class W>
struct And {
  static U<W> apply(U<W> a, U<W> b) { return a & b; }
};
template <class W>
struct Or {
  static U<W> apply(U<W> a, U<W> b) { return a | b; }
};
template <class W>
struct Xor {
  static U<W> apply(U<W> a, U<W> b) { return a ^ b; }
};
template <class W>
struct MaximumSigned {
  static U<W> apply(U<W> a, U<W> b) { return W::extended(a) > W::extended(b) ? a : b; }
};
template <class W>
struct MinimumSigned {
  static U<W> apply(U<W> a, U<W> b) { return W::extended(a) < W::extended(b) ? a : b; }
};
template <class W>
struct MaximumUnsigned {
  static U<W> apply(U<W> a, U<W> b) { return a > b ? a : b; }
};
template <class W>
struct MinimumUnsigned {
  static U<W> apply(U<W> a, U<W> b) { return a < b ? a : b; }
};

/// The quotient of two whole numbers of fewer bits than the float's mantissa, divided and truncated as floats, is
/// exact: a fraction that is not an integer differs from the nearest integer by more than the rounding error.
/// Unlike an integer division this runs in vectors.
template <class W, class T>
T quotient(T a, T b) {
  if constexpr (W::kBits <= 16)
    return static_cast<T>(static_cast<float>(a) / static_cast<float>(b));
  else if constexpr (W::kBits <= 32)
    return static_cast<T>(static_cast<double>(a) / static_cast<double>(b));
  else
    return a / b;
}

/// Truncated; x / 0 is all ones, the minimum / -1 the minimum.
template <class W>
struct DivideSigned {
  static U<W> apply(U<W> a, U<W> b) {
    const bool overflows = (a == W::kMinimum) & (b == W::kOnes);
    const U<W> divisor = b == 0 || overflows ? U<W>{1} : b;
    const U<W> q = static_cast<U<W>>(quotient<W, S<W>>(W::extended(a), W::extended(divisor)));
    return b == 0 ? W::kOnes : q;
  }
};
template <class W>
struct DivideUnsigned {
  static U<W> apply(U<W> a, U<W> b) {
    const U<W> q = quotient<W, U<W>>(a, b == 0 ? U<W>{1} : b);
    return b == 0 ? W::kOnes : q;
  }
};
/// The dividend's sign; x % 0 is x.
template <class W>
struct RemainderSigned {
  static U<W> apply(U<W> a, U<W> b) { return bits<W>(a - typename W::Wide{DivideSigned<W>::apply(a, b)} * b); }
};
template <class W>
struct RemainderUnsigned {
  static U<W> apply(U<W> a, U<W> b) { return bits<W>(a - typename W::Wide{DivideUnsigned<W>::apply(a, b)} * b); }
};

/// Counts are unsigned; from the width on nothing of the operand is left but copies of its sign.
template <class W>
struct ShiftLeft {
  static U<W> apply(U<W> a, U<W> b) { return b < W::kBits ? bits<W>(typename W::Wide{a} << (b & 63)) : U<W>{0}; }
};
template <class W>
struct ShiftRightUnsigned {
  static U<W> apply(U<W> a, U<W> b) { return b < W::kBits ? bits<W>(typename W::Wide{a} >> (b & 63)) : U<W>{0}; }
};
template <class W>
struct ShiftRightSigned {
  static U<W> apply(U<W> a, U<W> b) {
    constexpr int kLast = W::kBits - 1;
    const int count = b < W::kBits ? static_cast<int>(b) : kLast;
    return static_cast<U<W>>(W::extended(a) >> count);
  }
};

/// By squaring. A negative exponent leaves 0, except for bases 1 and -1.
template <class W>
struct Power {
  static U<W> apply(U<W> a, U<W> b) {
    const S<W> base = W::extended(a), exponent = W::extended(b);
    if (exponent < 0) return base == 1 ? 1 : base != -1 ? 0 : b & 1 ? a : 1;
    U<W> result = 1, square = a;
    for (U<W> left = b; left; left >>= 1) {
      if (left & 1) result = bits<W>(typename W::Wide{result} * square);
      square = bits<W>(typename W::Wide{square} * square);
    }
    return result;
  }
};

/// Set bits, summed in ever wider fields.
template <class W>
U<W> countOnes(U<W> x) {
  using Wide = typename W::Wide;
  constexpr Wide kAll = ~Wide{0};
  Wide v = x;
  v = v - ((v >> 1) & (kAll / 3));
  v = (v & (kAll / 5)) + ((v >> 2) & (kAll / 5));
  v = (v + (v >> 4)) & (kAll / 17);
  return bits<W>((v * (kAll / 255)) >> (8 * sizeof(Wide) - 8));
}

template <class W>
struct Absolute {
  static U<W> apply(U<W> a) { return W::extended(a) < 0 ? static_cast<U<W>>(0 - a) : a; }
};
template <class W>
struct CountOnes {
  static U<W> apply(U<W> a) { return countOnes<W>(a); }
};
template <class W>
struct CountLeadingZeros {
  static U<W> apply(U<W> a) {
    U<W> filled = a | (a >> 1);  // below the first one, all ones
    filled |= filled >> 2;
    filled |= filled >> 4;
    if constexpr (W::kBits > 8) filled |= filled >> 8;
    if constexpr (W::kBits > 16) filled |= filled >> 16;
    if constexpr (W::kBits > 32) filled |= filled >> 32;
    return static_cast<U<W>>(W::kBits - countOnes<W>(filled));
  }
};
template <class W>
struct CountTrailingZeros {
  static U<W> apply(U<W> a) { return countOnes<W>(static_cast<U<W>>(~a & (a - 1)) & W::kOnes); }
};

constexpr IntUnaryRow kUnary[] = {
    intUnaryRow<Absolute>("math.absi"),
    intUnaryRow<CountOnes>("math.ctpop"),
    intUnaryRow<CountLeadingZeros>("math.ctlz"),
    intUnaryRow<CountTrailingZeros>("math.cttz"),
};

constexpr IntBinaryRow kBinary[] = {
    intBinaryRow<Add>("arith.addi"),
    intBinaryRow<Subtract>("arith.subi"),
    intBinaryRow<Multiply>("arith.muli"),
    intBinaryRow<And>("arith.andi"),
    intBinaryRow<Or>("arith.ori"),
    intBinaryRow<Xor>("arith.xori"),
    intBinaryRow<MaximumSigned>("arith.maxsi"),
    intBinaryRow<MinimumSigned>("arith.minsi"),
    intBinaryRow<MaximumUnsigned>("arith.maxui"),
    intBinaryRow<MinimumUnsigned>("arith.minui"),
    intBinaryRow<DivideSigned>("arith.divsi"),
    intBinaryRow<DivideUnsigned>("arith.divui"),
    intBinaryRow<RemainderSigned>("arith.remsi"),
    intBinaryRow<RemainderUnsigned>("arith.remui"),
    intBinaryRow<ShiftLeft>("arith.shli"),
    intBinaryRow<ShiftRightUnsigned>("arith.shrui"),
    intBinaryRow<ShiftRightSigned>("arith.shrsi"),
    intBinaryRow<Power>("math.ipowi"),
};

}  // namespace

Rows<IntUnaryRow> intUnaryRows() { return SMALTI_ROWS(kUnary); }
Rows<IntBinaryRow> intBinaryRows() { return SMALTI_ROWS(kBinary); }

}  // namespace smalti::eval::SMALTI_ISA
