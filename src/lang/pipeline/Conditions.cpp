#include "lang/pipeline/Conditions.h"

#include "lang/refs/Indexer.h"
#include "smalti/control.h"
#include "smalti/ops.h"

namespace smalti::lang {

Array constantI32(int64_t n) { return Operand(n).array().with_weak_type(false); }
Array condition(bool b) { return Operand(b).array().with_weak_type(false); }

namespace {

using Known = std::optional<int64_t>;

template <class Fold, class Record>
Array fold(const Array& a, const Array& b, const Fold& foldTo, const Record& record) {
  const Known x = concreteInteger(a), y = concreteInteger(b);
  return x && y ? foldTo(*x, *y) : record(a, b).with_weak_type(false);
}

}  // namespace

Array plus(const Array& a, int64_t n) {
  if (n == 0) return a;
  return fold(
      a, constantI32(n), [](auto x, auto y) { return constantI32(x + y); },
      [](const Array& x, const Array& y) { return add(x, y); });
}
Array minus(const Array& a, const Array& b) {
  return fold(
      a, b, [](auto x, auto y) { return constantI32(x - y); },
      [](const Array& x, const Array& y) { return subtract(x, y); });
}
Array times(const Array& a, const Array& b) {
  if (concreteInteger(b) == 1) return a;
  if (concreteInteger(a) == 1) return b;
  return fold(
      a, b, [](auto x, auto y) { return constantI32(x * y); },
      [](const Array& x, const Array& y) { return multiply(x, y); });
}
Array modulo(const Array& a, int64_t n) {
  if (n == 1) return constantI32(0);
  return fold(
      a, constantI32(n), [](auto x, auto y) { return constantI32(x % y); },
      [](const Array& x, const Array& y) { return rem(x, y); });
}
Array isEqual(const Array& a, const Array& b) {
  return fold(
      a, b, [](auto x, auto y) { return condition(x == y); },
      [](const Array& x, const Array& y) { return equal(x, y); });
}
Array isDifferent(const Array& a, const Array& b) {
  return fold(
      a, b, [](auto x, auto y) { return condition(x != y); },
      [](const Array& x, const Array& y) { return not_equal(x, y); });
}
Array isLess(const Array& a, const Array& b) {
  return fold(
      a, b, [](auto x, auto y) { return condition(x < y); }, [](const Array& x, const Array& y) { return less(x, y); });
}
Array logicalAnd(const Array& a, const Array& b) {
  if (const Known x = concreteInteger(a)) return *x ? b : a;
  if (const Known y = concreteInteger(b)) return *y ? a : b;
  return logical_and(a, b);
}
Array logicalOr(const Array& a, const Array& b) {
  if (const Known x = concreteInteger(a)) return *x ? a : b;
  if (const Known y = concreteInteger(b)) return *y ? b : a;
  return logical_or(a, b);
}
Array selectValue(const Array& c, const Array& yes, const Array& no) {
  if (const Known x = concreteInteger(c)) return *x ? yes : no;
  return where(c, yes, no).with_weak_type(false);
}

void whenTrue(const Array& c, const Location& at, const std::function<void()>& body) { when(Operand(c, at), body); }

}  // namespace smalti::lang
