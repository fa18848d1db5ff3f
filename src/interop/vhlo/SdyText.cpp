// Attributes of sdy (Shardy): meshes and shardings. Codes and fields are those of Shardy's bytecode.td, the text is
// that of its attrs.td.
#include <array>

#include <fmt/format.h>

#include "interop/Limits.h"
#include "interop/stablehlo/Syntax.h"
#include "interop/vhlo/AttributeText.h"

namespace smalti::interop::vhlo {
namespace {

enum SdyCode : uint64_t {
  kManualAxes = 0,
  kMeshAxis = 1,
  kMesh = 2,
  kSubAxis = 3,
  kAxis = 4,
  kDimension = 5,
  kSharding = 6,
  kShardings = 7,
  kShardingRule = 10,       ///< how the dimensions of an op, such as a call of LAPACK, correspond: not read
  kShardingUnreduced = 15,  ///< with unreduced axes, which are summed
  kShardingsUnreduced = 16,
  kShardingReduced = 17,  ///< with unreduced axes and the op that reduces them
};

/// What stands around an attribute's own text, except where it is a part of another attribute of sdy.
struct Frame {
  std::string_view before, after;
};

Frame frameOf(uint64_t code) {
  switch (code) {
    case kManualAxes:
      return {"#sdy<manual_axes", ">"};
    case kMeshAxis:
      return {"#sdy<mesh_axis", ">"};
    case kMesh:
      return {"#sdy.mesh", ""};
    case kSubAxis:
      return {"#sdy<sub_axis_info", ">"};
    case kAxis:
      return {"#sdy<axis_ref", ">"};
    case kDimension:
      return {"#sdy<dimension_sharding", ">"};
    case kSharding:
    case kShardingUnreduced:
    case kShardingReduced:
      return {"#sdy.sharding", ""};
    case kShardings:
    case kShardingsUnreduced:
      return {"#sdy.sharding_per_value", ""};
    default:
      return {};
  }
}

}  // namespace

std::string AttributeText::sdyAttribute(Cursor& c, uint64_t code) {
  if (code == kShardingRule) {
    c.take(c.remaining(), "a sharding rule");
    return "#sdy.op_sharding_rule<>";
  }
  const Frame frame = frameOf(code);
  if (frame.before.empty()) return unknown(c, "an attribute of sdy", code);
  const std::string text = sdyBody(c, code);
  return c.ok() ? fmt::format("{}{}{}", frame.before, text, frame.after) : "";
}

std::string AttributeText::sdyBody(Cursor& c, uint64_t code) {
  const auto name = [&] {
    const uint32_t index = c.index("a string", model_.strings.size());
    return c.ok() ? stablehlo::quotedText(model_.strings[index]) : "";
  };
  switch (code) {
    case kManualAxes: {
      const std::string axes = list(c, "manual axes");
      if (!c.ok()) return "";
      return fmt::format("{{{}}}", std::string_view(axes).substr(1, axes.size() - 2));
    }
    case kMeshAxis: {
      const std::string axis = name();
      return fmt::format("{}={}", axis, c.signedVarint("the size of an axis"));
    }
    case kMesh: {
      const std::string axes = sdyList(c, kMeshAxis), devices = integers(c);
      return devices == "[]" ? fmt::format("<[{}]>", axes) : fmt::format("<[{}], device_ids={}>", axes, devices);
    }
    case kSubAxis: {
      const int64_t sizeBefore = c.signedVarint("a size");
      return fmt::format("({}){}", sizeBefore, c.signedVarint("a size"));
    }
    case kAxis: {
      std::string axis = name();
      if (const uint64_t part = c.varint("a part of an axis"); part & 1)
        axis += fmt::format(":{}", sdyPart(c, part >> 1, kSubAxis));
      return axis;
    }
    case kDimension: {
      std::string axes = sdyList(c, kAxis);
      if (c.byte("whether a dimension is closed") == 0) axes += axes.empty() ? "?" : ", ?";
      const uint64_t priority = c.varint("a priority");
      return priority & 1 ? fmt::format("{{{}}}p{}", axes, priority >> 1) : fmt::format("{{{}}}", axes);
    }
    case kShardings:
    case kShardingsUnreduced:
      return fmt::format("<[{}]>", sdyList(c, kSharding));
    default:
      return sdySharding(c, code);
  }
}

/// <@mesh, [{"x"}, {}], replicated={"y"}>
std::string AttributeText::sdySharding(Cursor& c, uint64_t code) {
  std::string_view mesh = attributePart(c);
  if (mesh.starts_with(frameOf(kMesh).before))
    mesh.remove_prefix(std::string_view("#sdy.").size());
  else if (c.ok() && !mesh.starts_with('@'))
    c.fail("SM2105", "a sharding has an attribute of another kind for its mesh", {}, std::string(mesh.substr(0, 40)));
  std::string text = fmt::format("<{}, [{}]", mesh, sdyList(c, kDimension));
  if (const std::string axes = sdyList(c, kAxis); !axes.empty()) text += fmt::format(", replicated={{{}}}", axes);
  if (code == kSharding) return text + ">";
  const std::string axes = sdyList(c, kAxis);
  constexpr std::array<std::string_view, 3> kReductions = {"", "max", "min"};  // the first one is the sum
  const int64_t reduction = code == kShardingReduced ? c.signedVarint("a reduction") : 0;
  if (reduction < 0 || static_cast<size_t>(reduction) >= kReductions.size())
    return unknown(c, "a reduction", static_cast<uint64_t>(reduction));
  if (!axes.empty()) text += fmt::format(", unreduced={}{{{}}}", kReductions[reduction], axes);
  return text + ">";
}

std::string AttributeText::sdyList(Cursor& c, uint64_t code) {
  const uint64_t n = c.count("parts of a sharding");
  std::string text;
  for (uint64_t i = 0; i < n && c.ok() && text.size() <= limits::kMaxTextBytes; ++i)
    (text += i ? ", " : "") += sdyPart(c, c.varint("a part of a sharding"), code);
  return text;
}

/// The text of the attribute `index`, of the kind that `code` has, without what stands around it elsewhere.
std::string_view AttributeText::sdyPart(Cursor& c, uint64_t index, uint64_t code) {
  if (c.ok() && index >= model_.attributes.size())
    c.fail("SM2101", fmt::format("the {} refers to an attribute it does not have", state_.what()),
           fmt::format("an index below {}", model_.attributes.size()), fmt::format("{}", index));
  if (!c.ok()) return "";
  const bytecode::Entry& e = model_.attributes[index];
  Cursor inner = cursor(e);
  const bool encoded = e.encoded && dialect(e) == "sdy";
  const Frame frame = frameOf(code);
  if (!encoded || frameOf(inner.varint("an attribute's code")).before != frame.before) {
    c.fail("SM2105", "a part of a sharding is an attribute of another kind");
    return "";
  }
  std::string_view text = attribute(static_cast<uint32_t>(index));
  if (!c.ok()) return "";
  text.remove_prefix(frame.before.size());
  text.remove_suffix(frame.after.size());
  return text;
}

}  // namespace smalti::interop::vhlo
