#include "obol/model/tensors.h"

#include <cstring>

#include "obol/base/error.h"

namespace obol::model {
namespace {

using torch::Tensor;

NumberType type_of(const std::string& name, const Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return NumberType::kFloat32;
    case at::kDouble:
      return NumberType::kFloat64;
    case at::kLong:
      return NumberType::kInt64;
    default:
      throw InvalidArgument(violation("the tensor " + name, "of floats, doubles or int64",
                                      c10::toString(tensor.scalar_type())));
  }
}

}  // namespace

void TensorWriter::add(const std::string& name, const Tensor& tensor) {
  const Tensor& dense = kept_.emplace_back(tensor.detach().cpu().contiguous());
  tensors_.push_back({.name = name,
                      .type = type_of(name, dense),
                      .shape = dense.sizes().vec(),
                      .bytes = {static_cast<const std::byte*>(dense.data_ptr()), dense.nbytes()}});
}

void TensorWriter::add(const torch::nn::Module& module) {
  for (const auto& named : {module.named_parameters(), module.named_buffers()})
    for (const auto& item : named) add(item.key(), item.value());
}

std::string TensorWriter::bytes(const TensorTexts& texts, TensorSum sum) const {
  return tensor_file(texts, tensors_, sum);
}

void TensorReader::copy(const std::string& name, const Tensor& to) {
  const torch::NoGradGuard no_grad;
  const NamedTensor* found = file_.find(name);
  if (found == nullptr)
    throw DataError(violation("the tensor " + name, "in the file", "missing", file_.where()));
  if (found->type != type_of(name, to) || found->shape != to.sizes().vec())
    throw DataError(violation("the tensor " + name, in_words(type_of(name, to), to.sizes().vec()),
                              in_words(found->type, found->shape), file_.where()));
  const Tensor read = torch::empty(to.sizes(), at::TensorOptions(to.scalar_type()));
  if (!found->bytes.empty()) std::memcpy(read.data_ptr(), found->bytes.data(), found->bytes.size());
  to.copy_(read);
  taken_.insert(name);
}

void TensorReader::copy(const torch::nn::Module& to) {
  for (const auto& named : {to.named_parameters(), to.named_buffers()})
    for (const auto& item : named) copy(item.key(), item.value());
}

void TensorReader::finish() const {
  for (const NamedTensor& tensor : file_.tensors())
    if (!taken_.contains(tensor.name))
      throw DataError(violation("the tensor " + tensor.name, "known", "not", file_.where()));
}

}  // namespace obol::model
