#include "obol/model/script.h"

#include <sstream>
#include <string>

#include <fmt/format.h>
#include <torch/script.h>

namespace obol::model {
namespace {

// The module and its children under the same names, without a method.
torch::jit::Module skeleton_of(const torch::nn::Module& module, const std::string& name,
                               const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  torch::jit::Module script(c10::QualifiedName("__torch__.obol." + name), unit, true);
  for (const auto& item : module.named_parameters(false))
    script.register_parameter(item.key(), item.value().detach().cpu().contiguous(), false);
  for (const auto& item : module.named_buffers(false))
    script.register_buffer(item.key(), item.value().detach().cpu().contiguous());
  for (const auto& item : module.named_children())
    script.register_module(item.key(), skeleton_of(*item.value(), name + "_" + item.key(), unit));
  return script;
}

std::string indented(const std::string& body) {
  std::istringstream lines(body);
  std::string text;
  for (std::string line; std::getline(lines, line);) text += "    " + line + "\n";
  return text;
}

// Visits the options as attributes, so that a file has the names of a recipe.
class Writer final : public recipe::Fields {
 public:
  explicit Writer(torch::jit::Module& script) : script_(script) {}
  void flag(std::string_view key, bool& value, std::string_view) override { add(key, value); }
  void integer(std::string_view key, std::optional<std::int64_t>& value, const recipe::Limits&,
               std::string_view) override {
    add(key, *value);
  }
  void number(std::string_view key, std::optional<double>& value, const recipe::Limits&,
              std::string_view) override {
    add(key, *value);
  }
  void text(std::string_view key, std::optional<std::string>& value, const recipe::Choices&,
            std::string_view) override {
    add(key, *value);
  }

 private:
  void add(std::string_view key, const c10::IValue& value) {
    script_.register_attribute(std::string(key), value.type(), value);
  }
  torch::jit::Module& script_;
};

}  // namespace

std::string script_bytes(const Generator& generator) {
  torch::jit::Module script =
      skeleton_of(generator, "Generator", std::make_shared<torch::jit::CompilationUnit>());
  GeneratorOptions options = generator.options();
  Writer writer(script);
  options.describe_network(writer);
  const data::ImageShape& shape = generator.shape();
  script.register_attribute("shape", c10::ListType::ofInts(),
                            c10::List<std::int64_t>({shape.channels, shape.height, shape.width}));
  script.register_attribute("num_classes", c10::IntType::get(), generator.num_classes());
  script.define(fmt::format("def forward(self, z: Tensor, labels: {}) -> Tensor:\n{}",
                            generator.is_conditional() ? "Tensor" : "Optional[Tensor] = None",
                            indented(generator.script())));
  script.eval();
  std::ostringstream bytes;
  script.save(bytes);
  return bytes.str();
}

}  // namespace obol::model
