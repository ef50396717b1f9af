// Aten operators on lists, most of them of numbers. (Those that split tensors and join them stand in list.cc.)
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"
#include "src/ops/source_template.h"

namespace lanista::ops {
namespace {

// The elements of a list. In ONNX they are separate values, one per edge.
std::optional<Types> ItemsOf(const OpCall& call, const std::string& list) {
  const auto items = AtenArguments(call).List(list);
  // The type of an empty list does not give the kind of its elements.
  return items.has_value() && !items->empty() ? items : std::nullopt;
}

// An operator on a list, whose place within an expression does not matter.
AtenSpec OfList(const std::string& type, const std::string& arguments, InferFunction infer,
                OnnxFunction onnx = nullptr) {
  AtenSpec spec = OnNumbers(type, arguments, std::move(infer), std::move(onnx));
  spec.within_expressions = true;
  return spec;
}

// The template for Python, where the argument `list` may be any sequence: x.shape as well as list(x.shape).
SourceFunction OfSequence(const std::string& list, const std::string& source) {
  return [=](Sources arguments) -> std::optional<std::string> {
    arguments[list] = WithoutList(arguments[list]);
    return FillTemplate(source, arguments);
  };
}

AtenSpec Length() {
  AtenSpec spec = OfList(
      "len.t", "a",
      [](const OpCall& call) -> absl::StatusOr<Types> {
        const auto items = ItemsOf(call, "a");
        return Types{items.has_value() ? graph::KnownInt(static_cast<int64_t>(items->size()))
                                       : OfKind(v1::ValueType::INT)};
      },
      [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
        const auto items = ItemsOf(call, "a");
        if (!items.has_value()) return OnnxNeeds("the length of the list");
        return Names{writer.Constant(Dims{static_cast<int64_t>(items->size())}, {})};
      });
  spec.write_python = OfSequence("a", "len({a})");
  return spec;
}

// The element type of a list with this type.
v1::ValueType ElementOf(const v1::ValueType& list) {
  return list.elements_size() > 0 ? list.elements(0) : v1::ValueType();
}

// A list of unknown length, with elements as in these arguments, or as whoever made the graph knows them.
v1::ValueType ListLike(const OpCall& call, const Names& arguments) {
  v1::ValueType type = OfKind(v1::ValueType::LIST);
  for (const std::string& name : arguments) {
    const v1::ValueType list = AtenArguments(call).Type(name);
    if (list.elements_size() == 0 || list.elements(0).kind() == v1::ValueType::KIND_UNSPECIFIED) continue;
    *type.add_elements() = list.elements(0);
    return type;
  }
  const bool told = call.node.outputs_size() > 0 && call.node.outputs(0).kind() == v1::ValueType::LIST;
  if (told) return graph::KindOnly(call.node.outputs(0));
  type.add_elements();
  return type;
}

AtenSpec Item() {
  AtenSpec spec = OfList(
      "__getitem__.t", "list, idx",
      [](const OpCall& call) -> absl::StatusOr<Types> {
        const AtenArguments a(call);
        const auto items = ItemsOf(call, "list");
        const auto index = a.Int("idx");
        if (!items.has_value() || !index.has_value()) return Types{ElementOf(a.Type("list"))};
        const auto count = static_cast<int64_t>(items->size());
        if (*index >= -count && *index < count) return Types{(*items)[(*index + count) % count]};
        return absl::InvalidArgumentError(absl::StrCat("there is no element ", *index, " in a list of ", count));
      },
      [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
        const AtenArguments a(call);
        const std::vector<int> edges = a.Edges("list");
        const auto count = static_cast<int64_t>(edges.size());
        const auto index = a.Int("idx");
        if (!index.has_value() || *index < -count || *index >= count) return OnnxNeeds("the place in the list");
        return Names{writer.Input(edges[(*index + count) % count])};
      });
  spec.write_python = OfSequence("list", "{list}[{idx}]");
  return spec;
}

// Start, end and step of a slice of a list; nullopt: unknown.
std::optional<std::array<int64_t, 3>> BoundsOf(const AtenArguments& a, int64_t count) {
  const auto start = a.IsNone("start") ? std::make_optional<int64_t>(0) : a.Int("start");
  const auto end = a.IsNone("end") ? std::make_optional(count) : a.Int("end");
  const auto step = a.Int("step");
  if (!start.has_value() || !end.has_value() || !step.has_value() || *step < 1) return std::nullopt;
  const auto clip = [count](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count); };
  return std::array<int64_t, 3>{clip(*start), clip(*end), *step};
}

// A slice of a shape is no list.
std::optional<std::string> PythonListSlice(Sources arguments) {
  const std::string slice = absl::StrCat("{l}[{start}:{end}", arguments.count("step") > 0 ? ":{step}]" : "]");
  const std::string list = arguments["l"];
  const std::string shape = WithoutList(list);
  if (shape == list) return FillTemplate(slice, arguments);
  arguments["l"] = shape;
  return absl::StrCat("list(", FillTemplate(slice, arguments), ")");
}

AtenSpec ListSlice() {
  AtenSpec spec = OfList(
      "slice.t", "l, start=None, end=None, step=1",
      [](const OpCall& call) -> absl::StatusOr<Types> {
        const AtenArguments a(call);
        const auto items = ItemsOf(call, "l");
        const v1::ValueType list = ListLike(call, {"l"});
        if (!items.has_value()) return Types{list};
        const auto bounds = BoundsOf(a, static_cast<int64_t>(items->size()));
        Types kept;
        for (int64_t i = bounds ? (*bounds)[0] : 0; bounds && i < (*bounds)[1]; i += (*bounds)[2]) {
          kept.push_back((*items)[i]);
        }
        return Types{kept.empty() ? list : graph::ListOf(kept)};
      },
      [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
        const AtenArguments a(call);
        const std::vector<int> edges = a.Edges("l");
        const auto bounds = BoundsOf(a, static_cast<int64_t>(edges.size()));
        if (!bounds.has_value()) return OnnxNeeds("the bounds of the slice");
        Names names;
        for (int64_t i = (*bounds)[0]; i < (*bounds)[1]; i += (*bounds)[2]) names.push_back(writer.Input(edges[i]));
        return names;
      });
  spec.write_python = PythonListSlice;
  return spec;
}

// a + b
AtenSpec Concatenation() {
  AtenSpec spec = OfList("add.t", "a, b", [](const OpCall& call) -> absl::StatusOr<Types> {
    const AtenArguments a(call);
    const auto first = a.List("a"), second = a.List("b");
    if (!first.has_value() || !second.has_value() || first->size() + second->size() == 0) {
      return Types{ListLike(call, {"a", "b"})};
    }
    Types items = *first;
    items.insert(items.end(), second->begin(), second->end());
    return Types{graph::ListOf(items)};
  });
  spec.python = "{a} + {b}";
  return spec;
}

// The list `l`, `n` times.
AtenSpec Repetition(const std::string& overload, const std::string& arguments, const std::string& python) {
  AtenSpec spec = OfList("mul." + overload, arguments, [](const OpCall& call) -> absl::StatusOr<Types> {
    // More items are a mistake, and inference would take long.
    constexpr int64_t kMaxItems = 10000;
    const AtenArguments a(call);
    const auto once = ItemsOf(call, "l");
    const auto times = a.Int("n");
    const bool known =
        once.has_value() && times.has_value() && *times > 0 && *times <= kMaxItems / static_cast<int64_t>(once->size());
    if (!known) return Types{ListLike(call, {"l"})};
    Types items;
    for (int64_t i = 0; i < *times; ++i) items.insert(items.end(), once->begin(), once->end());
    return Types{graph::ListOf(items)};
  });
  spec.python = python;
  return spec;
}

AtenSpec ListEquality(const std::string& name, const std::string& sign) {
  AtenSpec spec = OfList(name + ".int_list", "a, b", Always(v1::ValueType::BOOLEAN));
  spec.python = absl::StrCat("{a} ", sign, " {b}");
  return spec;
}

LANISTA_REGISTER_OP(MakeAten(Length()));
LANISTA_REGISTER_OP(MakeAten(Item()));
LANISTA_REGISTER_OP(MakeAten(ListSlice()));
LANISTA_REGISTER_OP(MakeAten(Concatenation()));
LANISTA_REGISTER_OP(MakeAten(Repetition("left_t", "l, n", "{l} * {n}")));
LANISTA_REGISTER_OP(MakeAten(Repetition("right_", "n, l", "{n} * {l}")));
LANISTA_REGISTER_OP(MakeAten(ListEquality("eq", "==")));
LANISTA_REGISTER_OP(MakeAten(ListEquality("ne", "!=")));

}  // namespace
}  // namespace lanista::ops
