#include <algorithm>
#include <bit>

#include "sim/Code.h"

namespace smalti::sim {
namespace {

int64_t wrapped(int64_t v, uint8_t bits) {
  switch (bits) {
    case 1:
      return v & 1;
    case 8:
      return static_cast<int8_t>(v);
    case 16:
      return static_cast<int16_t>(v);
    case 32:
      return static_cast<int32_t>(v);
    default:
      return v;
  }
}

uint64_t unsignedOf(int64_t v, uint8_t bits) {
  return bits >= 64 ? static_cast<uint64_t>(v) : static_cast<uint64_t>(v) & ((uint64_t{1} << bits) - 1);
}

int64_t floorDiv(int64_t a, int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

}  // namespace

int64_t compute(Binary op, uint8_t bits, int64_t a, int64_t b) {
  const uint64_t ua = unsignedOf(a, bits), ub = unsignedOf(b, bits);
  const auto wrap = [&](uint64_t v) { return wrapped(static_cast<int64_t>(v), bits); };
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case Binary::add:
      return wrap(x + y);
    case Binary::sub:
      return wrap(x - y);
    case Binary::mul:
      return wrap(x * y);
    case Binary::divS:
      return b == 0 || b == -1 ? wrap(b == 0 ? 0 : 0 - x) : wrapped(a / b, bits);
    case Binary::divU:
      return ub == 0 ? 0 : wrap(ua / ub);
    case Binary::remS:
      return b == 0 || b == -1 ? 0 : wrapped(a % b, bits);
    case Binary::remU:
      return ub == 0 ? 0 : wrap(ua % ub);
    case Binary::floorDivS:
      return b == 0 || b == -1 ? wrap(b == 0 ? 0 : 0 - x) : wrapped(floorDiv(a, b), bits);
    case Binary::ceilDivS:
      return b == 0 || b == -1 ? wrap(b == 0 ? 0 : 0 - x) : wrapped(-floorDiv(-a, b), bits);
    case Binary::minS:
      return std::min(a, b);
    case Binary::maxS:
      return std::max(a, b);
    case Binary::minU:
      return wrap(std::min(ua, ub));
    case Binary::maxU:
      return wrap(std::max(ua, ub));
    case Binary::bitAnd:
      return wrap(x & y);
    case Binary::bitOr:
      return wrap(x | y);
    case Binary::bitXor:
      return wrap(x ^ y);
    case Binary::shiftLeft:
      return ub >= bits ? 0 : wrap(x << ub);
    case Binary::shiftRightS:
      return wrapped(a >> std::min<uint64_t>(ub, 63), bits);
    case Binary::shiftRightU:
      return ub >= bits ? 0 : wrap(ua >> ub);
    case Binary::eq:
      return ua == ub;
    case Binary::ne:
      return ua != ub;
    case Binary::ltS:
      return a < b;
    case Binary::leS:
      return a <= b;
    case Binary::gtS:
      return a > b;
    case Binary::geS:
      return a >= b;
    case Binary::ltU:
      return ua < ub;
    case Binary::leU:
      return ua <= ub;
    case Binary::gtU:
      return ua > ub;
    case Binary::geU:
      return ua >= ub;
    case Binary::signExtend:
      return bits == 1 ? -a : a;
    case Binary::zeroExtend:
      return static_cast<int64_t>(ua);
    case Binary::truncate:
      return wrapped(a, bits);
    case Binary::countLeadingZeros:
      return std::countl_zero(ua) - (64 - bits);
    case Binary::popCount:
      return std::popcount(ua);
  }
  return 0;
}

}  // namespace smalti::sim
