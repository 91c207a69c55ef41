#include "obol/model/script.h"

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <caffe2/serialize/inline_container.h>
#include <fmt/ranges.h>
#include <torch/script.h>

#include "obol/base/error.h"

namespace obol::model {
namespace {

using torch::Tensor;

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

class Reader final : public recipe::Fields {
 public:
  explicit Reader(const torch::jit::Module& script) : script_(script) {}
  void flag(std::string_view key, bool& value, std::string_view) override {
    value = script_.attr(std::string(key)).toBool();
  }
  void integer(std::string_view key, std::optional<std::int64_t>& value, const recipe::Limits&,
               std::string_view) override {
    value = script_.attr(std::string(key)).toInt();
  }
  void number(std::string_view key, std::optional<double>& value, const recipe::Limits&,
              std::string_view) override {
    value = script_.attr(std::string(key)).toDouble();
  }
  void text(std::string_view key, std::optional<std::string>& value, const recipe::Choices&,
            std::string_view) override {
    value = script_.attr(std::string(key)).toStringRef();
  }

 private:
  const torch::jit::Module& script_;
};

// A class in the file may name code that runs while it is read; ours never does.
void refuse_code_that_runs(const Path& path) {
  caffe2::serialize::PyTorchStreamReader archive(path.string());
  for (const std::string& name : archive.getAllRecords()) {
    if (name.rfind("code/", 0) != 0) continue;
    const auto [bytes, size] = archive.getRecord(name);
    const std::string_view text(static_cast<const char*>(bytes.get()), size);
    if (text.find("__setstate__") != std::string_view::npos)
      throw DataError(violation("a generator", "free of code that runs when it is read",
                                "one with __setstate__", path.string()));
  }
}

using Tensors = std::map<std::string, Tensor>;

Tensors tensors_of(const torch::jit::Module& script) {
  Tensors tensors;
  for (const auto& item : script.named_parameters()) tensors[item.name] = item.value;
  for (const auto& item : script.named_buffers()) tensors[item.name] = item.value;
  return tensors;
}

std::string kind_of(const Tensor& tensor) {
  return fmt::format("{} [{}]", c10::toString(tensor.scalar_type()),
                     fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ", "));
}

void copy_tensor(const Tensors& from, const std::string& name, const Tensor& to, const Path& path) {
  const auto found = from.find(name);
  if (found == from.end())
    throw DataError(violation("the tensor " + name, "in the file", "missing", path.string()));
  const Tensor& tensor = found->second;
  if (!tensor.defined() || tensor.sizes() != to.sizes() || tensor.layout() != at::kStrided ||
      tensor.scalar_type() != to.scalar_type() || !tensor.is_cpu())
    throw DataError(violation("the tensor " + name, kind_of(to),
                              tensor.defined() ? kind_of(tensor) : "undefined", path.string()));
  to.copy_(tensor);
}

std::shared_ptr<Generator> generator_of(const torch::jit::Module& script, const Path& path) {
  GeneratorOptions options;
  Reader reader(script);
  options.describe_network(reader);
  const std::vector<std::int64_t> sizes = script.attr("shape").toIntVector();
  if (sizes.size() != 3)
    throw DataError(violation("shape", "channels, height and width",
                              fmt::format("{} numbers", sizes.size()), path.string()));
  constexpr std::int64_t kMaxChannels = 1024;
  if (sizes[0] < 1 || sizes[0] > kMaxChannels)
    throw DataError(violation("the number of channels", fmt::format("from 1 to {}", kMaxChannels),
                              sizes[0], path.string()));
  auto generator =
      make_generator(options, {sizes[0], sizes[1], sizes[2]}, script.attr("num_classes").toInt());
  const torch::NoGradGuard no_grad;
  const Tensors tensors = tensors_of(script);
  std::size_t count = 0;
  for (const auto& named : {generator->named_parameters(), generator->named_buffers()})
    for (const auto& item : named) {
      copy_tensor(tensors, item.key(), item.value(), path);
      ++count;
    }
  if (tensors.size() != count)
    throw DataError(violation("the number of tensors", fmt::format("{}", count), tensors.size(),
                              path.string()));
  generator->eval();
  return generator;
}

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

void save_generator(const Generator& generator, const Path& path) {
  write_file(path, script_bytes(generator));
}

std::shared_ptr<Generator> load_generator(const Path& path) {
  FileBytes exists(path);  // its message is better than torch's
  try {
    refuse_code_that_runs(path);
    return generator_of(torch::jit::load(path.string(), torch::kCPU), path);
  } catch (const InvalidArgument& error) {
    throw DataError(fmt::format("{} ({})", error.what(), path.string()));
  } catch (const DataError&) {
    throw;
  } catch (const std::exception& error) {  // c10::Error, and others that do not derive from it
    const std::string text = error.what();
    throw DataError(violation("a generator", "a TorchScript file that Obol wrote",
                              "one of which torch says: " + text.substr(0, text.find('\n')),
                              path.string()));
  }
}

}  // namespace obol::model
