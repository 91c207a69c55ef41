// Tensors into files of numbers (obol/base/tensor_file.h) and back.
//
//   TensorWriter writer;
//   writer.add("weight", layer->weight);
//   std::string bytes = writer.bytes({{"kind", "example"}});
//
//   TensorReader reader(TensorFile(std::as_bytes(std::span(bytes)), "x.safetensors"));
//   reader.copy("weight", layer->weight);
//   reader.finish();   // nothing is left over
#pragma once

#include <set>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "obol/base/tensor_file.h"

namespace obol::model {

class TensorWriter {
 public:
  // Floats, doubles or int64; copied to the processor where they are elsewhere or not in order.
  void add(const std::string& name, const torch::Tensor& tensor);
  // Parameters and buffers.
  void add(const torch::nn::Module& module);
  [[nodiscard]] std::string bytes(const TensorTexts& texts,
                                  TensorSum sum = TensorSum::kInside) const;

 private:
  std::vector<torch::Tensor> kept_;
  std::vector<NamedTensor> tensors_;
};

class TensorReader {
 public:
  // The bytes of the file must outlive this.
  explicit TensorReader(TensorFile file) : file_(std::move(file)) {}

  [[nodiscard]] bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  // DataError unless the file has it, of the same type and shape.
  void copy(const std::string& name, const torch::Tensor& to);
  void copy(const torch::nn::Module& to);
  // DataError where a tensor was not asked for.
  void finish() const;

 private:
  TensorFile file_;
  std::set<std::string> taken_;
};

}  // namespace obol::model
