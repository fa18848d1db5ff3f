#include "plain/SortKeys.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "eval/FloatFormats.h"

namespace smalti::plain {
namespace {

bool areEqual(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<class T>(const T& x) {
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, Array>)
          return x.type() == y.type() && std::memcmp(x.data(), y.data(), static_cast<size_t>(x.bytes())) == 0;
        else if constexpr (std::is_same_v<T, std::vector<Sharding>>)
          return false;
        else
          return x == y;
      },
      a);
}

bool isSame(const Op& a, const Op& b) {
  return a.name == b.name && a.callee == b.callee && a.regions.empty() && b.regions.empty() &&
         a.operands.size() == b.operands.size() &&
         std::ranges::equal(a.attributes, b.attributes, [](const auto& x, const auto& y) {
           return x.first == y.first && areEqual(x.second, y.second);
         });
}

class Comparison {
 public:
  Comparison(const Function& f, const Block& region) : function_(f), region_(region) {
    for (const Op& op : region.ops)
      for (const ValueId v : op.results) made_[v] = &op;
    for (size_t i = 0; i < region.arguments.size(); ++i) argument_[region.arguments[i]] = i;
  }

  std::optional<std::vector<SortKey>> keys() {
    if (region_.ops.empty() || region_.ops.back().operands.size() != 1) return std::nullopt;
    std::optional<ValueId> rest = region_.ops.back().operands[0];
    while (rest) {
      auto next = addKey(*rest);
      if (!next) return std::nullopt;
      rest = *next;
    }
    return std::move(keys_);
  }

 private:
  const Op* made(ValueId v, std::string_view by) const {
    const auto found = made_.find(v);
    return found != made_.end() && found->second->name == by ? found->second : nullptr;
  }

  /// Are `a` and `b` the same function of the elements on both sides? `side`: 0 if `a` is of the first element.
  bool mirrors(ValueId a, ValueId b, size_t side, int depth = 0) {
    constexpr int kMaxDepth = 500;  // of the stack; comparisons have some ten ops
    if (depth > kMaxDepth) return false;
    const auto [known, isNew] = mirror_.try_emplace(a, b);
    if (!isNew) return known->second == b;
    const auto ofA = argument_.find(a), ofB = argument_.find(b);
    if (ofA != argument_.end() && ofB != argument_.end())
      return ofA->second % 2 == side && ofB->second == (ofA->second ^ 1);
    const auto byA = made_.find(a), byB = made_.find(b);
    if (byA == made_.end() || byB == made_.end()) return a == b && ofA == argument_.end();
    const Op &x = *byA->second, &y = *byB->second;
    if (!isSame(x, y) ||
        std::ranges::find(x.results, a) - x.results.begin() != std::ranges::find(y.results, b) - y.results.begin())
      return false;
    for (size_t i = 0; i < x.operands.size(); ++i)
      if (!mirrors(x.operands[i], y.operands[i], side, depth + 1)) return false;
    return true;
  }
  bool areMirrored(ValueId a, ValueId b, size_t side) {
    mirror_.clear();
    return mirrors(a, b, side);
  }

  std::optional<SortKey> keyOf(const Op& compare) {
    const TypedOp op{compare, function_};
    const std::string_view direction = op.text("comparison_direction");
    if (direction != "LT" && direction != "GT") return std::nullopt;
    const ValueId a = compare.operands[0], b = compare.operands[1];
    SortKey key{.isDescending = direction == "GT", .isTotalOrder = op.text("compare_type") == "TOTALORDER"};
    if (areMirrored(a, b, 0)) {
      key.value = a;
    } else if (areMirrored(a, b, 1)) {
      key.value = b;
      key.isDescending = !key.isDescending;
    } else {
      return std::nullopt;
    }
    return key;
  }
  /// Whether `equal` is true where both operands of `compare` are equal.
  bool isEquality(const Op* equal, const Op& compare, std::string_view direction) const {
    if (!equal) return false;
    const TypedOp e{*equal, function_}, c{compare, function_};
    const std::vector<ValueId>&x = equal->operands, &y = compare.operands;
    return e.text("comparison_direction") == direction && e.text("compare_type") == c.text("compare_type") &&
           (x == y || (x[0] == y[1] && x[1] == y[0]));
  }

  /// Adds the first key of `value`, and returns the comparison of elements for which it is equal; nullopt inside: there
  /// are no further keys.
  std::optional<std::optional<ValueId>> addKey(ValueId value) {
    if (const Op* compare = made(value, "compare")) return added(*compare, std::nullopt);
    if (const Op* either = made(value, "or"))
      for (const size_t i : {0, 1}) {
        const Op *compare = made(either->operands[i], "compare"), *both = made(either->operands[1 - i], "and");
        if (!compare || !both) continue;
        for (const size_t k : {0, 1})
          if (isEquality(made(both->operands[k], "compare"), *compare, "EQ"))
            return added(*compare, both->operands[1 - k]);
      }
    if (const Op* chosen = made(value, "select"))
      for (const size_t i : {1, 2})
        if (const Op* compare = made(chosen->operands[3 - i], "compare");
            compare && isEquality(made(chosen->operands[0], "compare"), *compare, i == 1 ? "EQ" : "NE"))
          return added(*compare, chosen->operands[i]);
    return std::nullopt;
  }
  std::optional<std::optional<ValueId>> added(const Op& compare, std::optional<ValueId> rest) {
    const auto key = keyOf(compare);
    if (!key) return std::nullopt;
    keys_.push_back(*key);
    return rest;
  }

  const Function& function_;
  const Block& region_;
  std::unordered_map<ValueId, const Op*> made_;
  std::unordered_map<ValueId, size_t> argument_;
  std::unordered_map<ValueId, ValueId> mirror_;
  std::vector<SortKey> keys_;
};

/// The ops of the region that its keys need, which it returns.
Block onlyKeys(const Block& region, const std::vector<SortKey>& keys) {
  Block block{region.arguments, {}};
  Op returned = region.ops.back();
  returned.operands.clear();
  for (const SortKey& key : keys) returned.operands.push_back(key.value);
  std::unordered_set<ValueId> needed(returned.operands.begin(), returned.operands.end());
  block.ops.push_back(std::move(returned));
  for (size_t i = region.ops.size() - 1; i-- > 0;) {
    const Op& op = region.ops[i];
    if (std::ranges::none_of(op.results, [&](ValueId v) { return needed.contains(v); })) continue;
    needed.insert(op.operands.begin(), op.operands.end());
    block.ops.push_back(op);
  }
  std::ranges::reverse(block.ops);
  return block;
}

/// Integers in the order of the key's values. nullopt: some are not numbers, and the key does not order those.
Result<std::optional<Array>> integersOf(const Array& values, const SortKey& key) {
  const DType t = values.dtype();
  if (is_signed_integer(t) && bit_width(t) < 8) {  // the other bits of their bytes may be anything
    auto integers = converted(values, DType::i8);
    if (!integers) return fail(std::move(integers.error()));
    return std::move(*integers);
  }
  if (!is_float(t)) return values;
  if (key.isTotalOrder) {
    auto integers = totalOrderKeys(values);
    if (!integers) return fail(std::move(integers.error()));
    return std::move(*integers);
  }
  auto numbers = Array::allocate({DType::f64, values.shape()});
  if (!numbers) return fail(std::move(numbers.error()));
  for (int64_t i = 0, bytes = storage_bytes(t); i < values.elements(); ++i) {
    const double x = eval::elementAsDouble(t, values.data() + i * bytes) + 0.0;  // -0 becomes +0
    if (std::isnan(x)) return std::nullopt;
    numbers->as<double>()[i] = x;
  }
  return integersOf(*numbers, {.isTotalOrder = true});
}

template <class Integer>
std::vector<uint64_t> unsignedNumbers(const Array& integers, bool isDescending) {
  constexpr uint64_t kFlip = std::is_signed_v<Integer> ? uint64_t{1} << 63 : 0;
  const std::span from(integers.as<Integer>(), static_cast<size_t>(integers.elements()));
  std::vector<uint64_t> numbers;
  numbers.reserve(from.size());
  for (const Integer x : from)
    numbers.push_back((static_cast<uint64_t>(x) ^ kFlip) ^ (isDescending ? ~uint64_t{0} : 0));
  return numbers;
}
std::vector<uint64_t> unsignedNumbers(const Array& integers, bool isDescending) {
  const auto of = [&]<class Signed, class Unsigned>() {
    return is_signed_integer(integers.dtype()) ? unsignedNumbers<Signed>(integers, isDescending)
                                               : unsignedNumbers<Unsigned>(integers, isDescending);
  };
  switch (storage_bytes(integers.dtype())) {
    case 1:
      return of.operator()<int8_t, uint8_t>();
    case 2:
      return of.operator()<int16_t, uint16_t>();
    case 4:
      return of.operator()<int32_t, uint32_t>();
    default:
      return of.operator()<int64_t, uint64_t>();
  }
}

}  // namespace

std::optional<std::vector<SortKey>> sortKeys(const Function& f, const Block& region) {
  return Comparison(f, region).keys();
}

Result<std::optional<std::vector<uint64_t>>> orderedNumbers(const Array& values, const SortKey& key) {
  const auto integers = integersOf(values, key);
  if (!integers) return fail(integers.error());
  if (!*integers) return std::nullopt;
  return unsignedNumbers(**integers, key.isDescending);
}

Result<std::optional<std::vector<std::vector<uint64_t>>>> keyNumbers(const PlainCall& call, const Block& region,
                                                                     const std::vector<SortKey>& keys,
                                                                     const std::vector<Array>& columns) {
  std::vector<Array> arguments;
  for (const Array& column : columns) arguments.insert(arguments.end(), 2, column);
  auto values = runLifted(call, onlyKeys(region, keys), std::move(arguments), {columns[0].elements()});
  if (!values) return fail(std::move(values.error()));
  std::vector<std::vector<uint64_t>> all;
  for (size_t k = 0; k < keys.size(); ++k) {
    auto numbers = orderedNumbers((*values)[k], keys[k]);
    if (!numbers) return fail(std::move(numbers.error()));
    if (!*numbers) return std::nullopt;
    all.push_back(std::move(**numbers));
  }
  return all;
}

}  // namespace smalti::plain
